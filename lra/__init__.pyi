"""The types of what `lra` gives; `__init__.py` says where it is."""

from lra.api import compose as compose
from lra.api import load_run as load_run
from lra.api import prepare_data as prepare_data
from lra.api import records as records
from lra.from_config import build_datamodule as build_datamodule
from lra.from_config import build_mixers as build_mixers
from lra.from_config import build_model as build_model
from lra.from_config import build_module as build_module
from lra.run import Run as Run
from lra.settings.run_folder import run_dir as run_dir
from lra.tools.interop.exported import load_exported as load_exported
from lra.tools.sequence_encoder import SequenceEncoder as SequenceEncoder
from lra.types import UserError as UserError

__version__: str
