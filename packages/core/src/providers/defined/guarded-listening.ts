import * as z from 'zod'
import type { Listening, Sink } from '../../contract/outside/provider.ts'
import { type Caller, callShaped, shaped } from './caller.ts'
import { noteShape, reportsShape, statesShape } from './shapes.ts'

const CLOSE_MS = 5_000

const listeningShape = z.custom<Listening>((value) => {
  const { states, close } = (value ?? {}) as Partial<Record<'states' | 'close', unknown>>
  return typeof states === 'function' && typeof close === 'function'
}, 'must be { states, close }')

/**
 * Starts to listen with the code of a definition.
 * @throws Error if the code does not listen, for example because its port is in use.
 */
export async function guardedListening(
  name: string,
  listen: (sink: Sink) => unknown,
  sink: Sink,
  caller: Caller,
): Promise<Listening> {
  const opened = await caller.get(() => listen(guardedSink(sink, caller)), listeningShape, 'result')
  if ('fault' in opened) {
    const place = opened.at[0] === undefined ? '' : ` at ${opened.at[0]}`
    throw new Error(`provider ${name} cannot listen: ${opened.fault}${place}`)
  }
  const listening = opened.value
  return {
    states() {
      const states = callShaped(() => listening.states(), statesShape, 'states')
      if ('value' in states) return states.value
      caller.report('listen', states)
      return []
    },
    async close(grace_ms) {
      const closed = await caller.get(
        () => listening.close(grace_ms),
        z.unknown(),
        'result',
        grace_ms + CLOSE_MS,
      )
      if ('fault' in closed) caller.report('listen', closed)
    },
  }
}

/** A sink that refuses reports of a wrong shape with an error, so that the code does not acknowledge them. */
function guardedSink(sink: Sink, caller: Caller): Sink {
  return {
    async receive(reports) {
      const read = shaped(reports, reportsShape, 'reports')
      if ('value' in read) return sink.receive(read.value)
      caller.report('listen', read)
      throw new TypeError(read.fault)
    },
    note(...line) {
      const read = shaped(line, noteShape, 'note')
      if ('value' in read) sink.note(...read.value)
      else caller.report('listen', read)
    },
  }
}
