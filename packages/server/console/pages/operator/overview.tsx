import type { ComponentChildren } from 'preact'
import type { OperatorOverview } from '../../../src/console/operator/answers.ts'
import { Badge, type Column, Loaded, Money, PageHead, Table, Time } from '../../parts/index.ts'
import { count, number } from '../../shell/format.ts'
import { Checks } from './checks.tsx'
import { usePolled } from './polled.ts'
import { ProviderTable } from './provider-table.tsx'
import { since } from './since.tsx'

function Overview() {
  const load = usePolled<OperatorOverview>('/overview')
  return (
    <>
      <PageHead title="Overview" text="The whole service, live" />
      <Loaded of={load}>
        {({ findings, rates, totals, message_queue, delivery_queue, credits, ...more }) => (
          <div class="stack">
            <section class="card" aria-label="Findings">
              <h2>Findings</h2>
              {findings.length === 0 && <Badge tone="good">All is well</Badge>}
              <ul class="acts">
                {findings.map(({ severity, text }) => (
                  <li key={text}>
                    <Badge tone={severity === 'problem' ? 'bad' : 'warn'}>{severity}</Badge> {text}
                  </li>
                ))}
              </ul>
            </section>
            <section class="cards">
              <Figure
                name="Accepted"
                value={rate(rates?.accepted)}
                note={count(totals.accepted, 'message')}
              />
              <Figure
                name="Delivered"
                value={rate(rates?.delivered)}
                note={count(totals.delivered, 'message')}
              />
              <Figure
                name="Failed"
                value={rate(rates?.failed)}
                note={count(totals.failed, 'message')}
              />
              <Figure
                name="Messages due"
                value={number(message_queue.due)}
                note={<>oldest {since(message_queue.oldest_due_at)}</>}
              />
              <Figure
                name="Deliveries due"
                value={number(delivery_queue.due)}
                note={count(more.webhooks.failing, 'failing webhook')}
              />
              <Figure
                name="Credits"
                value={<Money credits={credits.balance} />}
                note={`${count(credits.workspaces, 'workspace')}, ${number(credits.frozen)} frozen`}
              />
            </section>
            <section class="card">
              <h2>Providers</h2>
              <ProviderTable providers={more.providers} />
            </section>
            <Checks />
            {more.failures.length > 0 && (
              <section class="card">
                <h2>Newest failures</h2>
                <Table
                  label="Failures"
                  columns={FAILURES}
                  rows={more.failures}
                  keyOf={({ id }) => id}
                />
              </section>
            )}
          </div>
        )}
      </Loaded>
    </>
  )
}

function Figure({
  name,
  value,
  note,
}: {
  name: string
  value: ComponentChildren
  note?: ComponentChildren
}) {
  return (
    <div class="card">
      <h2>{name}</h2>
      <p class="figure">{value}</p>
      {note && <p class="small">{note}</p>}
    </div>
  )
}

const rate = (n: number | undefined) =>
  n === undefined ? '–' : `${n < 10 ? n.toFixed(1) : number(Math.round(n))}/s`

const FAILURES: readonly Column<OperatorOverview['failures'][number]>[] = [
  { name: 'Recipient', kind: 'main', value: ({ recipient }) => recipient },
  { name: 'Provider', value: ({ provider }) => provider ?? '–' },
  {
    name: 'Error',
    kind: 'wide',
    value: ({ error_code, error_message }) => `${error_code ?? ''} ${error_message ?? ''}`,
  },
  { name: 'Failed', value: ({ at }) => <Time at={at} /> },
]

export default { title: 'Overview', Page: Overview }
