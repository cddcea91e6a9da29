"""Flows for tests, with a spec made on the way."""

from dataclasses import replace

from sliceflow.codec._conditions import Unconditional
from sliceflow.flow._engines import Fast
from sliceflow.flow._flow import Flow
from sliceflow.flow._spec import Spec

ANY = Unconditional()


def flow_of(targets, shape, schedule, condition=ANY, engine=None, seed=0, **settings):
    """Return a flow to targets."""
    return Flow(Spec(shape, schedule, condition, engine or Fast(), seed), targets, **settings)


def with_schedule(flow, schedule):
    """Return the flow with other stages."""
    return replace(flow, spec=replace(flow.spec, schedule=schedule))


def do_steps(flow, state, n):
    """Do n steps of a flow, and none of those that follow."""
    done = []

    def count(state):
        done.append(state)
        if len(done) == n:
            raise StopIteration

    try:
        flow.run(state, [count])
    except StopIteration:
        return state
    return state
