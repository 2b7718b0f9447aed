"""The upstream that needs no network and no key: `unified_llm_local.echo`."""
