from pathway_local.api.judging import Engine as Engine
from pathway_local.api.judging import judge as judge
from pathway_local.api.rubric import Rubric as Rubric
from pathway_local.api.run import Run as Run
from pathway_local.errors import CasesError as CasesError
from pathway_local.errors import EngineError as EngineError
from pathway_local.errors import PathwayError as PathwayError
from pathway_local.errors import RubricError as RubricError
from pathway_local.errors import RunFileError as RunFileError
from pathway_local.errors import UsageError as UsageError
from pathway_local.system.private_process import make_private as make_private

PUBLIC: dict[str, str]
__version__: str
