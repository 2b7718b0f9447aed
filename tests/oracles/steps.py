"""The steps, contents and tools of the Interactions wire: what each may hold.

From Google's API description of the Interactions API, revision 2026-05-20 (steps).
"""

from __future__ import annotations

MODEL = """model:s input:s/o/a system_instruction:s tools:a response_format:o/a response_mime_type:s
response_modalities:a
generation_config:o safety_settings:a previous_interaction_id:s store:b stream:b background:b
service_tier=flex|standard|priority|deferred labels:o environment:s/o webhook_config:o cached_content:s
continuation_token:s agent:s agent_config:o"""
CONTENTS = {
    "text": "type! text!:s annotations:a",
    "image": "type! data:s uri:s mime_type:s resolution=low|medium|high|ultra_high",
    "audio": "type! data:s uri:s mime_type:s channels:i sample_rate:i rate:i processing",
    "video": "type! data:s uri:s mime_type:s name:s resolution=low|medium|high|ultra_high processing",
    "document": "type! data:s uri:s mime_type:s resolution=low|medium|high|ultra_high processing",
}
CALL = "type! id!:s arguments:o signature:s"
RESULT = "type! call_id!:s result is_error:b signature:s"
STEPS = {
    "user_input": "type! content!:a",
    "model_output": "type! content!:a error",
    "thought": "type! signature:s summary:a",
    "function_call": "type! id!:s name!:s arguments!:o signature:s",
    "function_result": "type! call_id!:s result!:s/o/a name:s is_error:b signature:s",
    "code_execution_call": CALL,
    "code_execution_result": RESULT,
    "url_context_call": CALL,
    "url_context_result": RESULT,
    "google_search_call": f"{CALL} search_type:s",
    "google_search_result": RESULT,
    "google_maps_call": CALL,
    "google_maps_result": RESULT,
    "file_search_call": CALL,
    "file_search_result": RESULT,
    "mcp_server_tool_call": f"{CALL} name!:s server_name!:s",
    "mcp_server_tool_result": f"{RESULT} name:s server_name:s",
    "retrieval_call": f"{CALL} retrieval_type:s",
    "retrieval_result": RESULT,
    "tool_search_call": CALL,
    "tool_search_result": RESULT,
    "processing_call": CALL,
    "processing_result": RESULT,
}
CONFIG = """max_output_tokens:i seed:i stop_sequences:a temperature:n top_p:n
thinking_level=minimal|low|medium|high|xhigh thinking_summaries=auto|none tool_choice:s/o speech_config:a/o
image_config:o
video_config:o transcription_config:o"""
TOOLS = {
    "function": "type! name!:s description:s parameters:o defer_loading:b short_description:s",
    "google_search": "type! search_types:a",
    "code_execution": "type!",
    "url_context": "type!",
    "google_maps": "type! latitude:n longitude:n enable_widget:b",
    "file_search": "type! file_search_store_names:a metadata_filter:s top_k:i",
    "computer_use": "type! environment:s excluded_predefined_functions:a enable_prompt_injection_detection:b "
    "disabled_safety_policies:a",
    "mcp_server": "type! name:s url:s headers:o allowed_tools:a defer_loading:b",
    "retrieval": "type! retrieval_types:a vertex_ai_search_config:o rag_store_config:o exa_ai_search_config:o "
    "parallel_ai_search_config:o",
    "tool_search": "type! execution=server|client name:s description:s parameters:o",
    "filesystem": "type!",
    "bash": "type!",
}
FORMATS = {
    "text": "type! mime_type:s schema:o",
    "image": "type! mime_type:s aspect_ratio:s image_size:s delivery=inline|uri",
    "audio": "type! mime_type:s bit_rate:i sample_rate:i delivery=inline|uri",
    "video": "type! aspect_ratio:s duration:s resolution:s delivery=inline|uri gcs_uri:s",
}
HARMS = """hate_speech dangerous_content harassment sexually_explicit civic_integrity image_hate image_dangerous_content
image_harassment image_sexually_explicit jailbreak""".split()  # fmt: skip
