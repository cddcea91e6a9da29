"""`sliceflow export`: write a page that samples a model in the browser."""

from sliceflow.cli._options import Export
from sliceflow.cli._samples import load_flow
from sliceflow.core._terminal import print_safely
from sliceflow.web import MAX_MEGABYTES, export_page


def run(options: Export) -> None:
    """Write the page."""
    megabytes = export_page(load_flow(options.model), options.web, options.model.stem)
    if megabytes > MAX_MEGABYTES:
        print_safely(f"the model takes {megabytes:.0f} MB: fit one with a smaller --effort")
    print_safely(f"wrote {options.web} ({megabytes:.1f} MB): serve it by any web server, such as")
    print_safely(f"  python -m http.server --directory {options.web}")
