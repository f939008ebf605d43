import type { Core } from '@svc/core'
import type { DispatchPause, DoubtfulTotal, Standstill } from '@svc/core/operate'
import type { Output } from './output.ts'

/** The pause of dispatch, the queues, and the doubtful messages. */
export interface DispatchState {
  pause: DispatchPause | null
  messages_waiting: number
  deliveries_waiting: number
  doubtful: DoubtfulTotal[]
}

/** Reads the state from the database. A server may run at the same time. */
export async function dispatchState({ dispatch, overviews }: Core): Promise<DispatchState> {
  const [pause, { message_queue, delivery_queue }, doubtful] = await Promise.all([
    dispatch.pause(),
    overviews.overview(),
    dispatch.doubtful(),
  ])
  return {
    pause,
    messages_waiting: message_queue.waiting,
    deliveries_waiting: delivery_queue.waiting,
    doubtful,
  }
}

/** Shows how a pause takes hold, a line for each change. */
export function showProgress(output: Output): (progress: Standstill) => void {
  let last = ''
  return ({ may_begin, messages, deliveries }) => {
    const calls = `calls that have begun: ${messages} of messages, ${deliveries} of webhook deliveries`
    const text = may_begin
      ? `Waiting until every server knows the pause; ${calls}`
      : `Waiting for ${calls}`
    if (text !== last) output.note(text)
    last = text
  }
}

/** Shows the state to people. */
export function showState(output: Output, state: DispatchState): void {
  const { pause, messages_waiting, deliveries_waiting, doubtful } = state
  const count = (n: number) => n.toLocaleString('en')
  output.fields([
    ['dispatch', pause ? { text: 'paused', style: 'yellow' } : { text: 'running', style: 'green' }],
    ['since', pause?.created_at.toISOString() ?? null],
    ['by', pause && (pause.cause === 'restore' ? 'a restore' : 'an operator')],
    ['reason', pause?.reason ?? null],
    ['backup as of', pause?.backup_at?.toISOString() ?? null],
    ['messages waiting', count(messages_waiting)],
    ['webhook deliveries waiting', count(deliveries_waiting)],
    ['doubtful messages', pause?.backup_at ? count(sumOf(doubtful)) : null],
  ])
  if (doubtful.length === 0) return
  output.line()
  output.table(
    ['WORKSPACE', 'CHANNEL', 'DOUBTFUL', 'OLDEST', 'NEWEST'],
    doubtful.map(({ workspace_id, channel, count: n, oldest_at, newest_at }) => [
      workspace_id,
      channel,
      count(n),
      oldest_at.toISOString(),
      newest_at.toISOString(),
    ]),
  )
}

/** The number of doubtful messages. */
export function sumOf(doubtful: readonly DoubtfulTotal[]): number {
  return doubtful.reduce((sum, { count }) => sum + count, 0)
}
