"""The items of the Responses wire: what each may hold, which open and which answer a call.

From OpenAI's API description; ids must open with what the API itself gives them ("Expected an ID that begins with
'msg'").
"""

from __future__ import annotations

CALLER = "caller?:o namespace?:s async?:b created_by"
STATUS = "status?=in_progress|completed|incomplete"
ITEMS = {
    "function_call": f"call_id!:s name!:s arguments!:s id?:s {CALLER} {STATUS}",
    "function_call_output": f"call_id:s output!:s/a id?:s name?:s {CALLER} {STATUS}",
    "custom_tool_call": f"call_id!:s name!:s input!:s id?:s {CALLER} {STATUS}",
    "custom_tool_call_output": f"call_id!:s output!:s/a id?:s {CALLER} {STATUS}",
    "reasoning": f"summary!:a id?:s content?:a encrypted_content?:s {STATUS}",
    "compaction": "encrypted_content!:s id?:s created_by",
    "compaction_trigger": "id?:s",
    "configuration_update": "id?:s reasoning?:o text?:o",
    "additional_tools": "role!=developer tools!:a id?:s",
    "tool_search_call": f"arguments! id?:s call_id?:s execution?=server|client created_by {STATUS}",
    "tool_search_output": f"tools!:a id?:s call_id?:s execution?=server|client created_by {STATUS}",
    "program": "id?:s call_id!:s code!:s fingerprint!:s",
    "program_output": "id?:s call_id!:s result! status=completed|incomplete",
    "file_search_call": "id!:s queries!:a status!:s results?:a",
    "web_search_call": "id!:s action:o status!:s",
    "computer_call": "id!:s call_id!:s action:o actions:a pending_safety_checks!:a status!:s",
    "computer_call_output": "call_id!:s output!:o acknowledged_safety_checks?:a id?:s status?:s",
    "image_generation_call": "id!:s result?:s status:s action background output_format quality revised_prompt size "
    "error "
    "svg_usage",
    "code_interpreter_call": "id!:s code?:s container_id!:s outputs?:a status!:s",
    "local_shell_call": "id!:s call_id!:s action!:o status!:s",
    "local_shell_call_output": "id!:s output!:s status?:s",
    "shell_call": f"call_id!:s action!:o environment?:o id?:s caller?:o created_by {STATUS}",
    "shell_call_output": f"call_id!:s output!:a max_output_length?:i id?:s caller?:o created_by {STATUS}",
    "apply_patch_call": "call_id!:s operation!:o status!=in_progress|completed id?:s caller?:o created_by",
    "apply_patch_call_output": "call_id!:s status!=completed|failed output?:s id?:s caller?:o created_by",
    "mcp_list_tools": "id!:s server_label!:s tools!:a error",
    "mcp_approval_request": "id!:s name!:s arguments!:s server_label!:s",
    "mcp_approval_response": "approval_request_id!:s approve!:b id?:s reason?:s",
    "mcp_call": "id!:s name!:s arguments!:s server_label!:s output error status:s approval_request_id",
    "item_reference": "id!:s",
}
MESSAGE = "role!=user|assistant|system|developer content!:s/a id?:s status?=in_progress|completed|incomplete phase?:s"

PREFIXES = {
    "message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc", "compaction": "cmp",
    "web_search_call": "ws", "file_search_call": "fs", "code_interpreter_call": "ci", "image_generation_call": "ig",
    "mcp_call": "mcp", "mcp_list_tools": "mcpl", "mcp_approval_request": "mcpr",
}  # fmt: skip

ANSWERS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
}
"""What answers a call of the client, and which."""

MADE = ("message", "function_call", "custom_tool_call", "web_search_call", "file_search_call", "code_interpreter_call",
        "image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request", "computer_call", "shell_call",
        "apply_patch_call", "local_shell_call", "tool_search_call", "program", "compaction", "tool_search_output",
        "reasoning", "shell_call_output", "program_output")  # fmt: skip
"""What a model's turn is made of; a reasoning item stands before one of these."""

PARTS = {
    "input_text": "type! text!:s prompt_cache_breakpoint?:o",
    "input_image": "type! image_url?:s file_id?:s detail?=low|high|auto|original prompt_cache_breakpoint?:o",
    "input_file": "type! file_id?:s file_url?:s file_data?:s filename?:s detail?:s prompt_cache_breakpoint?:o",
    "output_text": "type! text!:s annotations?:a logprobs?:a",
    "refusal": "type! refusal!:s",
}
INPUT = ("input_text", "input_image", "input_file")
OUTPUT = ("output_text", "refusal")

TOOLS = {
    "function": "name!:s parameters?:o strict?:b description?:s output_schema?:o defer_loading?:b allowed_callers?:a "
    "async?:b",
    "custom": "name!:s description?:s format?:o defer_loading?:b allowed_callers?:a async?:b",
    "namespace": "name!:s description!:s tools!:a",
    "tool_search": "execution?=server|client description?:s parameters?:o",
    "programmatic_tool_calling": "",
    "web_search": "filters?:o search_context_size?=low|medium|high user_location?:o external_web_access?:b "
    "search_content_types",
    "web_search_preview": "search_context_size?=low|medium|high user_location?:o search_content_types?:a",
    "file_search": "vector_store_ids!:a filters?:o max_num_results?:i ranking_options?:o",
    "code_interpreter": "container!:s/o allowed_callers?:a",
    "image_generation": "model action quality size background output_format output_compression moderation "
    "partial_images "
    "input_fidelity input_image_mask complexity frame_count frame_duration_ms svg",
    "mcp": "server_label!:s server_url?:s connector_id?:s tunnel_id?:s authorization?:s headers?:o allowed_tools?:a/o "
    "require_approval?:s/o server_description?:s defer_loading?:b allowed_callers?:a",
    "computer": "",
    "computer_use_preview": "display_width!:i display_height!:i environment!:s",
    "shell": "environment?:o allowed_callers?:a",
    "local_shell": "",
    "apply_patch": "allowed_callers?:a",
}
SAME_TOOL = {"web_search_2025_08_26": "web_search", "web_search_preview_2025_03_11": "web_search_preview"}

INCLUDE = ("reasoning.encrypted_content", "message.output_text.logprobs", "file_search_call.results",
           "web_search_call.action.sources", "web_search_call.results", "code_interpreter_call.outputs",
           "message.input_image.image_url", "computer_call_output.output.image_url")  # fmt: skip
