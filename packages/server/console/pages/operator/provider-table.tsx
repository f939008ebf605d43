import type { ComponentChildren } from 'preact'
import type { OperatorProvider } from '../../../src/console-api/operator/answers.ts'
import { Badge, Table, Time } from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { rich, t } from '../../shell/text.ts'

const STATES = {
  active: ['good', t('active')],
  silent: ['bad', t('does not answer')],
  paused: ['warn', t('paused')],
  refused: ['bad', t('refuses its settings')],
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
      label={t('Providers')}
      rows={providers}
      keyOf={({ name }) => name}
      {...(actions && { actions })}
      columns={[
        { name: t('Provider'), kind: 'main', value: ({ name }) => name },
        {
          name: t('State'),
          value: ({ state }) => <Badge tone={STATES[state][0]}>{STATES[state][1]}</Badge>,
        },
        {
          name: t('Open calls'),
          kind: 'number',
          value: ({ queue }) => <Aged count={queue.calls} oldest={queue.oldest_call_at} />,
        },
        {
          name: t('Waiting'),
          kind: 'number',
          value: ({ queue }) => <Aged count={queue.waiting} oldest={queue.oldest_waiting_at} />,
        },
        { name: t('Unknown'), kind: 'number', value: ({ queue }) => number(queue.unknown) },
        {
          name: t('Accepted / failed'),
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
      {number(count)}{' '}
      {oldest && <small>{rich('the oldest is from {time}', { time: since(oldest) })}</small>}
    </>
  )
}

export const since = (at: string | null) => (at ? <Time at={at} /> : '–')
