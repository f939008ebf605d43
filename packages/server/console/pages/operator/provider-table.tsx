import type { ComponentChildren } from 'preact'
import type { OperatorProvider } from '../../../src/console-api/operator/answers.ts'
import { Badge, Table, Time } from '../../parts/index.ts'
import { number } from '../../shell/format.ts'

const STATES = {
  active: ['good', 'active'],
  silent: ['bad', 'does not answer'],
  paused: ['warn', 'paused'],
  refused: ['bad', 'refuses its settings'],
} as const

export function ProviderTable({
  providers,
  actions,
}: {
  providers: readonly OperatorProvider[]
  actions?: (one: OperatorProvider) => ComponentChildren
}) {
  return (
    <Table
      label="Providers"
      rows={providers}
      keyOf={({ name }) => name}
      {...(actions && { actions })}
      columns={[
        { name: 'Provider', kind: 'main', value: ({ name }) => name },
        {
          name: 'State',
          value: ({ state }) => <Badge tone={STATES[state][0]}>{STATES[state][1]}</Badge>,
        },
        {
          name: 'Open calls',
          kind: 'number',
          value: ({ queue }) => <Aged count={queue.calls} oldest={queue.oldest_call_at} />,
        },
        {
          name: 'Waiting',
          kind: 'number',
          value: ({ queue }) => <Aged count={queue.waiting} oldest={queue.oldest_waiting_at} />,
        },
        { name: 'Unknown', kind: 'number', value: ({ queue }) => number(queue.unknown) },
        {
          name: 'Accepted / failed',
          value: ({ recent }) =>
            `${number(recent.accepted)} / ${number(recent.rejected + recent.retried + recent.unknown)}`,
        },
      ]}
    />
  )
}

/** A number of calls or messages, with the age of the oldest. */
function Aged({ count, oldest }: { count: number; oldest: string | null }) {
  return (
    <>
      {number(count)} {oldest && <small>oldest {since(oldest)}</small>}
    </>
  )
}

export const since = (at: string | null) => (at ? <Time at={at} /> : '–')
