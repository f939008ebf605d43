import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type {
  OperatorCheck,
  OperatorFinding,
  OperatorOverview,
} from '../../../src/console-api/operator/answers.ts'
import {
  Badge,
  Button,
  type Column,
  Loaded,
  Money,
  PageHead,
  StatusBadge,
  Table,
  Time,
} from '../../parts/index.ts'
import { count, number, tenths } from '../../shell/format.ts'
import { hrefOf } from '../../shell/router.ts'
import { rich, sentence, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { send, usePolled } from './polled.ts'
import { ProviderTable, since } from './provider-table.tsx'
import { WorkspaceLink } from './workspace-link.tsx'

function Overview() {
  const load = usePolled<OperatorOverview>('/overview')
  return (
    <>
      <PageHead title={t('Overview')} text={t('The whole service, live')} />
      <Loaded of={load}>
        {({ findings, rates, totals, message_queue, delivery_queue, credits, ...more }) => (
          <div class="stack">
            <section class="card" aria-label={t('Findings')}>
              <h2>{t('Findings')}</h2>
              {findings.length === 0 && <Badge tone="good">{t('No findings')}</Badge>}
              <ul class="acts">
                {findings.map((one) => (
                  <li key={one.text}>
                    <Badge tone={one.severity === 'problem' ? 'bad' : 'warn'}>
                      {wordOf(one.severity)}
                    </Badge>{' '}
                    {findingText(one)} <Solution of={one} />
                  </li>
                ))}
              </ul>
            </section>
            <section class="cards">
              <Figure
                name={t('Accepted')}
                value={rate(rates?.accepted)}
                note={count(totals.accepted, 'message')}
              />
              <Figure
                name={t('Delivered')}
                value={rate(rates?.delivered)}
                note={count(totals.delivered, 'message')}
              />
              <Figure
                name={t('Failed')}
                value={rate(rates?.failed)}
                note={count(totals.failed, 'message')}
              />
              <Figure
                name={t('Messages due')}
                value={number(message_queue.due)}
                note={
                  message_queue.oldest_due_at &&
                  rich('the oldest is from {time}', { time: since(message_queue.oldest_due_at) })
                }
              />
              <Figure
                name={t('Deliveries due')}
                value={number(delivery_queue.due)}
                note={count(more.webhooks.failing, 'failing webhook')}
              />
              <Figure
                name={t('Credits')}
                value={<Money credits={credits.balance - credits.held} />}
                note={t('available in {workspaces}, {held} held; {frozen} frozen', {
                  workspaces: count(credits.workspaces, 'workspace'),
                  held: number(credits.held),
                  frozen: count(credits.frozen, 'workspace'),
                })}
              />
            </section>
            <section class="card">
              <h2>{t('Providers')}</h2>
              <ProviderTable providers={more.providers} />
            </section>
            <Checks />
            {more.troubled_webhooks.length > 0 && (
              <section class="card">
                <h2>{t('Failing and disabled webhooks')}</h2>
                <Table
                  label={t('Failing and disabled webhooks')}
                  columns={WEBHOOKS}
                  rows={more.troubled_webhooks}
                  keyOf={({ id }) => id}
                />
              </section>
            )}
            {more.failures.length > 0 && (
              <section class="card">
                <h2>{t('Newest failures')}</h2>
                <Table
                  label={t('Failures')}
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

/** A command or a name can be copied: there are no control characters around it. */
const isolated = (text: string) => <bdi>{text}</bdi>

/** The sentences of a finding, with the separators of its English text. */
const findingText = ({ sentences }: OperatorFinding) =>
  sentences.map((one, i) => {
    const isForeign = typeof one === 'string'
    return [
      i === 0 ? '' : i === 1 || isForeign ? ': ' : t('; '),
      isForeign ? isolated(one) : sentence(one, isolated),
    ]
  })

/** The page that solves a finding, and its button. */
const SOLUTIONS: Record<string, readonly [to: string, text: string]> = {
  paused: ['/operator/queues', t('“Resume” in Queues')],
  messages_late: ['/operator/queues', t('Open Queues')],
  outcome_unknown: ['/operator/queues', t('Open Queues')],
  deliveries_late: ['/operator/queues', t('Open Queues')],
  provider_paused: ['/operator/providers', t('“Resume” in Providers')],
  sender_paused: ['/operator/providers', t('“Resume” in Providers')],
  provider_silent: ['/operator/providers', t('“Pause” in Providers')],
}

function Solution({ of: { code, workspace_id: id, workspace_name } }: { of: OperatorFinding }) {
  const found = SOLUTIONS[code]
  if (found) return <a href={hrefOf(found[0])}>{found[1]}</a>
  if (id === null) return null
  const name = workspace_name ?? id
  return (
    <a href={hrefOf(`/operator/workspaces/${id}`)}>
      {code === 'codes_paused' ? t('“Resume” in {name}', { name }) : t('Open {name}', { name })}
    </a>
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
  n === undefined ? '–' : `${n < 10 ? tenths(n) : number(Math.round(n))}/s`

const WEBHOOKS: readonly Column<OperatorOverview['troubled_webhooks'][number]>[] = [
  { name: t('Webhook'), kind: 'main', value: ({ host }) => host },
  { name: t('Workspace'), value: (one) => <WorkspaceLink {...one} /> },
  { name: t('State'), value: ({ status }) => <StatusBadge status={status} /> },
  {
    name: t('Failures in a row'),
    kind: 'number',
    value: ({ consecutive_failures }) => number(consecutive_failures),
  },
  { name: t('Last failure'), value: ({ last_failure_at }) => since(last_failure_at) },
]

const FAILURES: readonly Column<OperatorOverview['failures'][number]>[] = [
  { name: t('Recipient'), kind: 'main', value: ({ recipient }) => recipient },
  {
    name: t('Workspace'),
    value: (one) => <WorkspaceLink {...one} />,
  },
  { name: t('Bulk'), value: ({ bulk_id, bulk_name }) => bulk_name ?? bulk_id ?? '–' },
  { name: t('Provider'), value: ({ provider }) => provider ?? '–' },
  {
    name: t('Error'),
    kind: 'wide',
    value: ({ error_code, error_message }) => `${error_code ?? ''} ${error_message ?? ''}`,
  },
  { name: t('Failed'), value: ({ at }) => <Time at={at} /> },
]

const LEVELS = { ok: 'good', skipped: 'plain', warning: 'warn', error: 'bad' } as const

/** The checks of `svc doctor`. */
function Checks() {
  const [checks, setChecks] = useState<OperatorCheck[] | null>(null)
  const run = async () => setChecks((await send<{ checks: OperatorCheck[] }>('/checks')).checks)
  return (
    <section class="card">
      <h2>{t('Checks')}</h2>
      <p class="small">
        {t(
          'As svc doctor: disk, database, ledger, secrets, providers, webhooks, domains, backups.',
        )}
      </p>
      {checks && (
        <Table
          label={t('Checks')}
          rows={checks}
          keyOf={({ check, message }) => check + message}
          columns={[
            { name: t('Check'), kind: 'main', value: ({ check }) => check },
            {
              name: t('Level'),
              value: ({ level }) => <Badge tone={LEVELS[level]}>{wordOf(level)}</Badge>,
            },
            {
              name: t('Result'),
              value: ({ message, advice }) => (
                <>
                  {message} {advice && <small class="line">{advice}</small>}
                </>
              ),
            },
          ]}
        />
      )}
      <Button icon="check" onClick={run}>
        {t('Run the checks')}
      </Button>
    </section>
  )
}

export default { title: t('Overview'), Page: Overview }
