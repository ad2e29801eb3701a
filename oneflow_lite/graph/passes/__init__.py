"""Passes: what rewrites programs before they run. Names and rules are TVM's.

Program ─► Sequential([FoldConstant(), EliminateCommonSubexpr(), DeadCode()]) ─► Program
                └─ PassContext: level, required, disabled, instruments, settings
"""

from oneflow_lite.graph.passes.alter_layout import (
    Altered as Altered,
    AlterOpLayout as AlterOpLayout,
    Layout as Layout,
    NCHW16c as NCHW16c,
    register_alter_op_layout as register_alter_op_layout,
)
from oneflow_lite.graph.passes.base import (
    FunctionPass as FunctionPass,
    ModulePass as ModulePass,
    Pass as Pass,
    Sequential as Sequential,
    find_pass as find_pass,
    function_pass as function_pass,
    module_pass as module_pass,
    register_pass as register_pass,
)
from oneflow_lite.graph.passes.common_subexpr import (
    EliminateCommonSubexpr as EliminateCommonSubexpr,
)
from oneflow_lite.graph.passes.context import (
    PassContext as PassContext,
    register_config as register_config,
)
from oneflow_lite.graph.passes.conv_layout import blocked_conv2d as blocked_conv2d
from oneflow_lite.graph.passes.dead_code import DeadCode as DeadCode
from oneflow_lite.graph.passes.device_rules import (
    DeviceRules as DeviceRules,
    register_device_rule as register_device_rule,
)
from oneflow_lite.graph.passes.fold_constant import FoldConstant as FoldConstant
from oneflow_lite.graph.passes.fuse_ops import FuseOps as FuseOps
from oneflow_lite.graph.passes.infer_type import InferType as InferType
from oneflow_lite.graph.passes.info import PassInfo as PassInfo
from oneflow_lite.graph.passes.instruments import (
    PassInstrument as PassInstrument,
    PassTiming as PassTiming,
    PrintIR as PrintIR,
    pass_instrument as pass_instrument,
)
from oneflow_lite.graph.passes.normal_form import ToANormalForm as ToANormalForm
from oneflow_lite.graph.passes.order_by_memory import OrderByMemory as OrderByMemory
from oneflow_lite.graph.passes.rewriter import Rewriter as Rewriter
from oneflow_lite.graph.passes.widen_groups import WidenGroups as WidenGroups
