"""Annotations: which source backs which span of a text.

Offsets count characters of the part's text, ends are exclusive; adapters convert what counts bytes. A citation that a
wire hangs on a whole block has no `start_index`. Proof that must go back with a citation is `opaque` on it.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from .base import Kind, Node, Opaque, Unknown, cap

__all__ = [
    "Annotation",
    "ContainerFileCitation",
    "DocumentCitation",
    "FileCitation",
    "FilePath",
    "PlaceCitation",
    "SearchResultCitation",
    "SpeechMetadata",
    "UnknownAnnotation",
    "UrlCitation",
    "WordInfo",
]


class AnnotationBase(Node):
    """Fields of every annotation: its span in the part's text (end exclusive), the cited text, opaque data."""

    node_kind: ClassVar[str] = "annotation"

    start_index: Annotated[int | None, cap("citations.url")] = None
    end_index: Annotated[int | None, cap("citations.url")] = None
    cited_text: Annotated[str | None, cap("citations.document")] = None
    opaque: Annotated[list[Opaque] | None, cap("reasoning.signature")] = None


class UrlCitation(AnnotationBase):
    """A source on the web.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "citations.url"

    type: Literal["url_citation"] = "url_citation"
    url: Annotated[str | None, cap("citations.url")] = None
    title: Annotated[str | None, cap("citations.url")] = None


class FileCitation(AnnotationBase):
    """A stored file, or a retrieved document, that backs the text; `index` is an insertion point.

    https://platform.openai.com/docs/api-reference/responses/object https://ai.google.dev/gemini-api/docs/file-search
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["file_citation"] = "file_citation"
    file_id: Annotated[str | None, cap("citations.document")] = None
    filename: Annotated[str | None, cap("citations.document")] = None
    index: Annotated[int | None, cap("citations.document")] = None
    file_uri: Annotated[str | None, cap("citations.document")] = None
    source: Annotated[str | None, cap("citations.document")] = None
    page_number: Annotated[int | None, cap("citations.document")] = None
    media_id: Annotated[str | None, cap("citations.document")] = None
    custom_metadata: Annotated[Any, cap("citations.document")] = None


class ContainerFileCitation(AnnotationBase):
    """A file in a code interpreter's container.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["container_file_citation"] = "container_file_citation"
    container_id: Annotated[str | None, cap("citations.document")] = None
    file_id: Annotated[str | None, cap("citations.document")] = None
    filename: Annotated[str | None, cap("citations.document")] = None


class FilePath(AnnotationBase):
    """A file the model made.

    https://platform.openai.com/docs/api-reference/responses/object
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["file_path"] = "file_path"
    file_id: Annotated[str | None, cap("citations.document")] = None
    index: Annotated[int | None, cap("citations.document")] = None


class DocumentCitation(AnnotationBase):
    """A place in a document given with the request: a range of characters, of pages (from 1) or of content blocks.

    Ends are exclusive. `document_index` counts the documents of the whole request.
    https://docs.claude.com/en/docs/build-with-claude/citations
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["document_citation"] = "document_citation"
    document_index: Annotated[int | None, cap("citations.document")] = None
    document_title: Annotated[str | None, cap("citations.document")] = None
    file_id: Annotated[str | None, cap("citations.document")] = None
    start_char_index: Annotated[int | None, cap("citations.document")] = None
    end_char_index: Annotated[int | None, cap("citations.document")] = None
    start_page_number: Annotated[int | None, cap("citations.document")] = None
    end_page_number: Annotated[int | None, cap("citations.document")] = None
    start_block_index: Annotated[int | None, cap("citations.document")] = None
    end_block_index: Annotated[int | None, cap("citations.document")] = None


class SearchResultCitation(AnnotationBase):
    """A place in a search result that was given to the model (a `search_result` part).

    https://docs.claude.com/en/docs/build-with-claude/search-results
    """

    node_capability: ClassVar[str] = "citations.document"

    type: Literal["search_result_citation"] = "search_result_citation"
    search_result_index: Annotated[int | None, cap("citations.document")] = None
    source: Annotated[str | None, cap("citations.document")] = None
    title: Annotated[str | None, cap("citations.document")] = None
    start_block_index: Annotated[int | None, cap("citations.document")] = None
    end_block_index: Annotated[int | None, cap("citations.document")] = None


class PlaceCitation(AnnotationBase):
    """A place on a map, with snippets of its reviews.

    https://ai.google.dev/gemini-api/docs/maps-grounding
    """

    node_capability: ClassVar[str] = "citations.other"

    type: Literal["place_citation"] = "place_citation"
    place_id: Annotated[str | None, cap("citations.other")] = None
    name: Annotated[str | None, cap("citations.other")] = None
    url: Annotated[str | None, cap("citations.other")] = None
    review_snippets: Annotated[list[Any] | None, cap("citations.other")] = None


class WordInfo(AnnotationBase):
    """A word of a transcript with its time range ("1.2s") and speaker.

    https://ai.google.dev/gemini-api/docs/audio
    """

    node_capability: ClassVar[str] = "citations.other"

    type: Literal["word_info"] = "word_info"
    text: Annotated[str | None, cap("citations.other")] = None
    start_offset: Annotated[str | None, cap("citations.other")] = None
    end_offset: Annotated[str | None, cap("citations.other")] = None
    speaker: Annotated[str | None, cap("citations.other")] = None


class SpeechMetadata(AnnotationBase):
    """Speaker and voice of a span of text: of a transcript, or requested for generated speech.

    https://ai.google.dev/gemini-api/docs/speech-generation
    """

    node_capability: ClassVar[str] = "citations.other"

    type: Literal["speech_metadata"] = "speech_metadata"
    speaker: Annotated[str | None, cap("citations.other")] = None
    style: Annotated[str | None, cap("citations.other")] = None


class UnknownAnnotation(Unknown):
    """An annotation of an unknown type, kept whole."""

    node_kind: ClassVar[str] = "annotation"
    node_capability: ClassVar[str] = "native.content"


Annotation = Annotated[
    Annotated[
        UrlCitation
        | FileCitation
        | ContainerFileCitation
        | FilePath
        | DocumentCitation
        | SearchResultCitation
        | PlaceCitation
        | WordInfo
        | SpeechMetadata,
        Field(discriminator="type"),
    ]
    | UnknownAnnotation,
    Field(union_mode="left_to_right"),
    Kind("annotation"),
]
"""Any annotation."""
