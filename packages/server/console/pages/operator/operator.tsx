import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type {
  OperatorAuditEntry,
  OperatorBackups,
  OperatorCheck,
  OperatorLedger,
  OperatorOverview,
  OperatorProvider,
  OperatorPurchase,
  OperatorQueues,
  OperatorSetting,
  OperatorWorkspace,
} from '../../../src/console/operator/wire.ts'
import {
  Badge,
  Button,
  type Column,
  Copy,
  confirm,
  Drawer,
  Empty,
  Facts,
  FormDialog,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  Pager,
  Search,
  Table,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { fieldError } from '../../shell/api.ts'
import { count, number } from '../../shell/format.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageModule, PageProps } from '../../shell/page.ts'
import { go, query, setQuery } from '../../shell/router.ts'

const LIVE_MS = 3_000

/** Loads from an endpoint of operators, and again every 3 s while the tab is shown. */
function useLive<T>(path: string, search: Record<string, string | undefined> = {}): Load<T> {
  const load = useLoad(
    (signal) => ownApi.get<T>(`/operator${path}`, search, signal),
    [path, search],
  )
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) load.reload()
    }, LIVE_MS)
    return () => clearInterval(timer)
  }, [path])
  return load
}

const send = <T,>(path: string, body: object = {}) =>
  ownApi.send<T>('POST', `/operator${path}`, body)

interface Act {
  title: string
  action: string
  text?: ComponentChildren
  /** The fields besides the reason: names of the body and labels. */
  fields?: readonly (readonly [name: string, label: string, hint?: string])[]
  start?: Record<string, string>
  run(values: Record<string, string>): Promise<unknown>
}

/** A change with its reason: the form is its confirmation, and the audit log records both. */
function ActDialog({ act, onClose }: { act: Act; onClose(): void }) {
  const [values, setValues] = useState<Record<string, string>>({ reason: '', ...act.start })
  const fields = [...(act.fields ?? []), ['reason', 'Reason', 'For the audit log'] as const]
  return (
    <FormDialog
      title={act.title}
      action={act.action}
      onClose={onClose}
      onSubmit={async () => {
        await act.run(values)
        toast(`${act.action}: done`)
        onClose()
      }}
    >
      {(error) => (
        <>
          {act.text && <p>{act.text}</p>}
          {fields.map(([name, label, hint], i) => (
            <TextInput
              key={name}
              label={label}
              hint={hint}
              autofocus={i === 0}
              required={name === 'reason'}
              value={values[name] ?? ''}
              error={fieldError(error, name)}
              onInput={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </>
      )}
    </FormDialog>
  )
}

function useAct() {
  const [act, setAct] = useState<Act | null>(null)
  return { act: setAct, dialog: act && <ActDialog act={act} onClose={() => setAct(null)} /> }
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

const since = (at: string | null) => (at ? <Time at={at} /> : '–')
const rate = (n: number | undefined) =>
  n === undefined ? '–' : `${n < 10 ? n.toFixed(1) : number(Math.round(n))}/s`

function Overview() {
  const load = useLive<OperatorOverview>('/overview')
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
            <Checking />
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

/** The checks of `svc doctor`. */
function Checking() {
  const [checks, setChecks] = useState<OperatorCheck[] | null>(null)
  const run = async () => setChecks((await send<{ checks: OperatorCheck[] }>('/checks')).checks)
  return (
    <section class="card">
      <h2>Checks</h2>
      <p class="small">
        As svc doctor: disk, database, ledger, secrets, providers, webhooks, domains, backups.
      </p>
      {checks && (
        <Table
          label="Checks"
          rows={checks}
          keyOf={({ check, message }) => check + message}
          columns={[
            { name: 'Check', kind: 'main', value: ({ check }) => check },
            {
              name: 'Level',
              value: ({ level }) => (
                <Badge tone={({ ok: 'good', warning: 'warn', error: 'bad' } as const)[level]}>
                  {level}
                </Badge>
              ),
            },
            {
              name: 'Result',
              kind: 'wide',
              value: ({ message, advice }) => (advice ? `${message}: ${advice}` : message),
            },
          ]}
        />
      )}
      <Button icon="check" onClick={run}>
        Run the checks
      </Button>
    </section>
  )
}

const STATES = {
  active: ['good', 'active'],
  silent: ['bad', 'does not answer'],
  paused: ['warn', 'paused'],
  refused: ['bad', 'refuses its settings'],
} as const

function ProviderTable({
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
        { name: 'Open calls', kind: 'number', value: ({ queue }) => number(queue.calls) },
        { name: 'Oldest call', value: ({ queue }) => since(queue.oldest_call_at) },
        { name: 'Waiting', kind: 'number', value: ({ queue }) => number(queue.waiting) },
        { name: 'Oldest', value: ({ queue }) => since(queue.oldest_waiting_at) },
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

function Providers() {
  const load = useLive<{ providers: OperatorProvider[] }>('/providers')
  const { act, dialog } = useAct()
  const change = (name: string, verb: 'pause' | 'resume', action: string, sender?: string | null) =>
    act({
      title: `${action} ${sender ?? name}`,
      action,
      text: verb === 'pause' ? 'Its messages wait, or another provider sends them.' : undefined,
      async run({ reason }) {
        await send(`/providers/${encodeURIComponent(name)}/${verb}`, {
          reason,
          ...(sender && { sender }),
        })
        load.reload()
      },
    })
  async function test(name: string) {
    const path = `/providers/${encodeURIComponent(name)}/check`
    const { type, text } = await send<{ type: string; text: string | null }>(path)
    if (type === 'failed') toast(text ?? type, 'bad')
    else
      toast(
        type === 'ok'
          ? `${name} accepts its settings`
          : `${name} cannot be tested without a message`,
      )
  }
  return (
    <>
      <PageHead title="Providers" text="Outcomes are those of the last 15 minutes on this server" />
      <Loaded of={load}>
        {({ providers }) => (
          <div class="stack">
            {providers.length === 0 && <Empty title="No provider is configured" />}
            <ProviderTable
              providers={providers}
              actions={({ name, state, type }) =>
                type !== 'sandbox' && (
                  <>
                    <Button onClick={() => test(name)}>Test</Button>
                    {state === 'paused' || state === 'refused' ? (
                      <Button onClick={() => change(name, 'resume', 'Resume')}>Resume</Button>
                    ) : (
                      <Button kind="danger" onClick={() => change(name, 'pause', 'Pause')}>
                        Pause
                      </Button>
                    )}
                  </>
                )
              }
            />
            {providers.map(({ name, type, channels, pauses, connections, recent, ...more }) => (
              <section class="card" key={name}>
                <h2>{name}</h2>
                <Facts
                  of={{
                    Type: type,
                    Channels: channels.join(', ') || null,
                    Limit:
                      more.messages_per_second && `${more.messages_per_second} messages per second`,
                    Outcomes: `${count(recent.accepted, 'accepted', 'accepted')}, ${number(recent.rejected)} rejected, ${number(recent.retried)} retried, ${number(recent.unknown)} unknown`,
                    'Last error': recent.last_error && (
                      <>
                        {recent.last_error.code}: {recent.last_error.message} (
                        <Time at={recent.last_error.at} />)
                      </>
                    ),
                    Connections:
                      connections.map((one) => `${one.name} ${one.state}`).join(', ') || null,
                  }}
                />
                {pauses.map(({ sender, code, reason, retry_at, created_at }) => (
                  <p key={sender}>
                    <Badge tone="warn">{sender ?? 'paused'}</Badge> {code} {reason} (
                    <Time at={created_at} />
                    {retry_at && (
                      <>
                        , next try <Time at={retry_at} />
                      </>
                    )}
                    ){' '}
                    {sender && (
                      <Button onClick={() => change(name, 'resume', 'Resume', sender)}>
                        Resume
                      </Button>
                    )}
                  </p>
                ))}
              </section>
            ))}
          </div>
        )}
      </Loaded>
      {dialog}
    </>
  )
}

function Workspaces({ params: { id } }: PageProps) {
  const search = query.value.get('search') ?? ''
  const after = query.value.get('after') ?? undefined
  const list = useLoad(
    (signal) =>
      ownApi.get<{ workspaces: OperatorWorkspace[]; next_after: string | null }>(
        '/operator/workspaces',
        { search, after },
        signal,
      ),
    [search, after],
  )
  return (
    <>
      <PageHead title="Workspaces" />
      <div class="filters">
        <Search
          placeholder="Name, e-mail address or id"
          value={search}
          onInput={(text) => setQuery({ search: text }, { to: '/operator/workspaces' })}
        />
      </div>
      <Loaded of={list}>
        {({ workspaces, next_after }) =>
          workspaces.length === 0 ? (
            <Empty title={search ? 'No workspace matches' : 'No workspaces yet'} />
          ) : (
            <>
              <Table
                label="Workspaces"
                rows={workspaces}
                keyOf={(one) => one.id}
                to={(one) => `/operator/workspaces/${one.id}${location.search}`}
                current={id}
                columns={[
                  { name: 'Name', kind: 'main', value: ({ name }) => name },
                  { name: 'E-mail', kind: 'wide', value: ({ email }) => email },
                  {
                    name: 'Status',
                    value: ({ status }) => (
                      <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>
                    ),
                  },
                  {
                    name: 'Available',
                    kind: 'number',
                    value: ({ available }) => <Money credits={available} />,
                  },
                  { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
                ]}
              />
              <Pager next={next_after} noun="workspace" />
            </>
          )
        }
      </Loaded>
      {id && <OneWorkspace key={id} id={id} onChange={list.reload} />}
    </>
  )
}

function OneWorkspace({ id, onChange }: { id: string; onChange(): void }) {
  const load = useLoad(
    (signal) =>
      ownApi.get<{ workspace: OperatorWorkspace; audit: OperatorAuditEntry[] }>(
        `/operator/workspaces/${id}`,
        {},
        signal,
      ),
    [id],
  )
  const { act, dialog } = useAct()
  const change =
    (verb: string, body: (values: Record<string, string>) => object) =>
    async (values: Record<string, string>) => {
      await send(`/workspaces/${id}/${verb}`, { reason: values.reason, ...body(values) })
      load.reload()
      onChange()
    }
  return (
    <Drawer
      title={load.data?.workspace.name ?? 'Workspace'}
      onClose={() => go(`/operator/workspaces${location.search}`)}
    >
      <Loaded of={load}>
        {({ workspace: one, audit }) => (
          <div class="stack">
            <Facts
              of={{
                Id: <Copy value={id} />,
                'E-mail': one.email,
                Status: one.frozen_reason ? `frozen: ${one.frozen_reason}` : one.status,
                Available: <Money credits={one.available} />,
                Held: <Money credits={one.held} />,
                'Spent today': <Money credits={one.spent_today} />,
                'Daily limit':
                  one.daily_limit === null ? 'none' : <Money credits={one.daily_limit} />,
                'Credit limit': <Money credits={one.credit_limit} />,
              }}
            />
            <div class="actions">
              <Button
                kind="primary"
                onClick={() => {
                  // One id a form: a repeated click grants once.
                  const grant = crypto.randomUUID?.() ?? uuid()
                  act({
                    title: `Grant credits to ${one.name}`,
                    action: 'Grant credits',
                    fields: [['credits', 'Credits']],
                    run: change('grant', ({ credits }) => ({
                      credits: Number(credits || Number.NaN),
                      id: grant,
                    })),
                  })
                }}
              >
                Grant credits
              </Button>
              <Button
                onClick={() =>
                  act({
                    title: `Limits of ${one.name}`,
                    action: 'Set limits',
                    fields: [
                      ['daily_limit', 'Daily limit in credits', 'Empty: none'],
                      [
                        'credit_limit',
                        'Credit limit in credits',
                        'How far below 0 the balance may go',
                      ],
                    ],
                    start: {
                      daily_limit: `${one.daily_limit ?? ''}`,
                      credit_limit: `${one.credit_limit}`,
                    },
                    run: change('terms', ({ daily_limit, credit_limit }) => ({
                      daily_limit: daily_limit ? Number(daily_limit) : null,
                      credit_limit: Number(credit_limit),
                    })),
                  })
                }
              >
                Limits
              </Button>
              {one.status === 'frozen' ? (
                <Button
                  onClick={() =>
                    act({
                      title: `Unfreeze ${one.name}`,
                      action: 'Unfreeze',
                      run: change('unfreeze', () => ({})),
                    })
                  }
                >
                  Unfreeze
                </Button>
              ) : (
                <Button
                  kind="danger"
                  onClick={() =>
                    act({
                      title: `Freeze ${one.name}`,
                      action: 'Freeze',
                      text: 'It spends nothing from its next request on. Accepted messages are still sent.',
                      run: change('freeze', () => ({})),
                    })
                  }
                >
                  Freeze
                </Button>
              )}
            </div>
            <AuditList entries={audit} />
          </div>
        )}
      </Loaded>
      {dialog}
    </Drawer>
  )
}

/** Plain http in a private network has no `crypto.randomUUID`. */
function uuid(): string {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
}

function AuditList({ entries }: { entries: readonly OperatorAuditEntry[] }) {
  return (
    <ul class="acts">
      {entries.map(({ id, action, actor, target, details, created_at }) => (
        <li key={id}>
          <Badge>{action}</Badge> {actor.id ?? actor.kind}, <Time at={created_at} />
          <p class="small">
            {target} {details}
          </p>
        </li>
      ))}
    </ul>
  )
}

function Audit() {
  const after = query.value.get('after') ?? undefined
  const load = useLoad(
    (signal) =>
      ownApi.get<{ audit_entries: OperatorAuditEntry[]; next_after: string | null }>(
        '/operator/audit',
        { after },
        signal,
      ),
    [after],
  )
  return (
    <>
      <PageHead title="Operators' audit log" text="All workspaces and the service itself" />
      <Loaded of={load}>
        {({ audit_entries, next_after }) => (
          <>
            <section class="card">
              <AuditList entries={audit_entries} />
            </section>
            <Pager next={next_after} noun="entry" />
          </>
        )}
      </Loaded>
    </>
  )
}

function Queues() {
  const load = useLive<OperatorQueues>('/queues')
  const { act, dialog } = useAct()
  async function resume(choice: 'send' | 'cancel' | null, text: string) {
    const yes = { title: 'Resume all sending?', text, action: 'Resume', danger: choice !== null }
    if (!(await confirm(yes))) return
    const { canceled } = await send<{ canceled: number }>('/dispatch/resume', { choice })
    toast(
      choice === 'cancel'
        ? `${count(canceled, 'message')} canceled and refunded`
        : 'Sending continues',
    )
    load.reload()
  }
  const pause = () =>
    act({
      title: 'Pause all sending and delivering',
      action: 'Pause all',
      text: 'Requests are still accepted; their messages wait.',
      async run({ reason }) {
        await send('/dispatch/pause', { reason })
        load.reload()
      },
    })
  return (
    <>
      <PageHead title="Queues">
        {load.data && !load.data.pause && (
          <Button kind="danger" onClick={pause}>
            Pause all
          </Button>
        )}
      </PageHead>
      <Loaded of={load}>
        {({ messages, deliveries, pause, doubtful, unknown }) => (
          <div class="stack">
            {pause && (
              <section class="card">
                <h2>All sending and delivering is paused</h2>
                <p>
                  <Time at={pause.created_at} />: {pause.reason}
                </p>
                {doubtful.length > 0 && (
                  <>
                    <p>
                      These messages were due before the restore. A provider may have them already.
                    </p>
                    <Table
                      label="Messages in doubt"
                      rows={doubtful}
                      keyOf={({ workspace_id, channel }) => workspace_id + channel}
                      columns={[
                        { name: 'Workspace', kind: 'main', value: (one) => one.workspace_id },
                        { name: 'Channel', value: (one) => one.channel },
                        { name: 'Messages', kind: 'number', value: (one) => number(one.count) },
                        { name: 'Oldest', value: (one) => <Time at={one.oldest_at} /> },
                      ]}
                    />
                  </>
                )}
                <div class="actions">
                  {doubtful.length > 0 ? (
                    <>
                      <Button
                        onClick={() =>
                          resume(
                            'send',
                            'The messages in doubt are sent, some perhaps a second time.',
                          )
                        }
                      >
                        Send them and resume
                      </Button>
                      <Button
                        kind="danger"
                        onClick={() =>
                          resume('cancel', 'The messages in doubt fail and are refunded.')
                        }
                      >
                        Cancel them and resume
                      </Button>
                    </>
                  ) : (
                    <Button
                      onClick={() =>
                        resume(null, 'Sending and delivering continue within a second.')
                      }
                    >
                      Resume
                    </Button>
                  )}
                </div>
              </section>
            )}
            <Table
              label="Queues"
              rows={[
                { name: 'Messages', ...messages },
                { name: 'Deliveries', ...deliveries },
              ]}
              keyOf={({ name }) => name}
              columns={[
                { name: 'Queue', kind: 'main', value: ({ name }) => name },
                { name: 'Due', kind: 'number', value: ({ due }) => number(due) },
                { name: 'Next due', value: (one) => since(one.first_due_at) },
                { name: 'Leased', kind: 'number', value: ({ leased }) => number(leased) },
                {
                  name: 'Scheduled or retried later',
                  kind: 'number',
                  value: ({ later }) => number(later),
                },
              ]}
            />
            <h2>Unknown outcomes</h2>
            <p class="small">
              A provider may have these messages. The service queries the provider; without an
              answer a message ends as outcome_unknown after ten minutes.
            </p>
            {unknown.length === 0 ? (
              <Empty title="No message with an unknown outcome" />
            ) : (
              <Table
                label="Unknown outcomes"
                rows={unknown}
                keyOf={({ id }) => id}
                columns={[
                  { name: 'Recipient', kind: 'main', value: (one) => one.recipient },
                  { name: 'Provider', value: (one) => one.provider ?? '–' },
                  { name: 'Attempt', kind: 'number', value: (one) => one.attempt },
                  { name: 'Unknown since', value: (one) => <Time at={one.unknown_since} /> },
                  { name: 'Next look-up', value: (one) => <Time at={one.due_at} /> },
                ]}
              />
            )}
          </div>
        )}
      </Loaded>
      {dialog}
    </>
  )
}

function Purchases() {
  const load = useLive<{ purchases: OperatorPurchase[] }>('/purchases')
  return (
    <>
      <PageHead
        title="Purchases under review"
        text="No credits are granted for them. svc billing sync and svc billing refund decide them."
      />
      <Loaded of={load}>
        {({ purchases }) =>
          purchases.length === 0 ? (
            <Empty icon="credits" title="No purchase needs a review" />
          ) : (
            <Table
              label="Purchases"
              rows={purchases}
              keyOf={({ id }) => id}
              columns={[
                { name: 'Purchase', kind: 'main', value: ({ id }) => <Copy value={id} /> },
                { name: 'Status', value: ({ status }) => status },
                { name: 'Price', value: ({ price }) => price },
                { name: 'Credits', kind: 'number', value: ({ credits }) => number(credits) },
                { name: 'Reason', kind: 'wide', value: (one) => one.review_reason },
                { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
              ]}
              actions={(one) => (
                <LinkButton to={`/operator/workspaces/${one.workspace_id}`}>Workspace</LinkButton>
              )}
            />
          )
        }
      </Loaded>
    </>
  )
}

function Books() {
  const ledger = useLive<OperatorLedger>('/ledger')
  const backups = useLive<OperatorBackups>('/backups')
  const start = (load: Load<unknown>, path: string) => async () => {
    await send(path)
    load.reload()
  }
  return (
    <>
      <PageHead title="Ledger and backups" />
      <div class="stack">
        <section class="card">
          <h2>Ledger</h2>
          <Loaded of={ledger}>
            {({ is_offered, state, progress, report, error, started_at }) => (
              <>
                {!is_offered && (
                  <p>The host of this console verifies the ledger with svc ledger verify.</p>
                )}
                {state === 'running' && (
                  <p>
                    Verifying{' '}
                    {progress && (
                      <>
                        {progress.name}:{' '}
                        <progress
                          value={progress.done}
                          max={progress.total}
                          aria-label="Progress"
                        />
                      </>
                    )}
                  </p>
                )}
                {error && (
                  <p>
                    <Badge tone="bad">failed</Badge> {error}
                  </p>
                )}
                {report && (
                  <p>
                    <Badge tone={report.ok ? 'good' : 'bad'}>
                      {report.ok ? 'consistent' : 'inconsistent'}
                    </Badge>{' '}
                    {count(report.entries, 'entry', 'entries')},{' '}
                    {count(report.workspaces, 'workspace')}, {count(report.messages, 'message')}{' '}
                    {started_at && <Time at={started_at} />}
                  </p>
                )}
                {report && !report.ok && (
                  <Table
                    label="Differences"
                    rows={report.differences}
                    keyOf={(one) => JSON.stringify(one)}
                    columns={[
                      { name: 'Check', kind: 'main', value: ({ check }) => check },
                      { name: 'Workspace', value: (one) => one.workspace_id },
                      { name: 'Stands', value: ({ stands }) => stands },
                      { name: 'Should be', value: ({ should }) => should },
                    ]}
                  />
                )}
                {is_offered && (
                  <Button disabled={state === 'running'} onClick={start(ledger, '/ledger')}>
                    Verify the ledger
                  </Button>
                )}
              </>
            )}
          </Loaded>
        </section>
        <section class="card">
          <h2>Backups</h2>
          <Loaded of={backups}>
            {({ is_offered, dir, every_ms, backups: made, state, error }) =>
              is_offered ? (
                <>
                  <p class="small">
                    {every_ms === null
                      ? 'No backups are scheduled: set SVC_BACKUP_EVERY.'
                      : `Every ${number(every_ms / 3_600_000)} h`}{' '}
                    Folder: {dir}. Each backup is verified when it is made.
                  </p>
                  {error && (
                    <p>
                      <Badge tone="bad">failed</Badge> {error}
                    </p>
                  )}
                  {made.length > 0 && (
                    <Table
                      label="Backups"
                      rows={made}
                      keyOf={({ name }) => name}
                      columns={[
                        { name: 'File', kind: 'main', value: ({ name }) => name },
                        {
                          name: 'Size',
                          kind: 'number',
                          value: ({ bytes }) => `${number(Math.ceil(bytes / 1024))} KB`,
                        },
                        { name: 'Made and verified', value: ({ at }) => <Time at={at} /> },
                      ]}
                    />
                  )}
                  <Button busy={state === 'running'} onClick={start(backups, '/backups')}>
                    Make a backup now
                  </Button>
                </>
              ) : (
                <p>This server makes no backups. PostgreSQL is backed up with its own tools.</p>
              )
            }
          </Loaded>
        </section>
      </div>
    </>
  )
}

function Settings() {
  const load = useLoad(
    (signal) =>
      ownApi.get<{ settings: OperatorSetting[] | null }>('/operator/settings', {}, signal),
    [],
  )
  return (
    <>
      <PageHead
        title="Service settings"
        text="Read-only; secrets are masked. Pages: docs/operating/configuration.md"
      />
      <Loaded of={load}>
        {({ settings }) =>
          settings === null || settings.length === 0 ? (
            <Empty icon="settings" title="The host of this console has the settings" />
          ) : (
            <Table
              label="Settings"
              rows={settings}
              keyOf={({ env }) => env}
              columns={[
                {
                  name: 'Setting',
                  kind: 'main',
                  value: ({ env, summary }) => (
                    <>
                      <code>{env}</code>
                      <p class="small">{summary}</p>
                    </>
                  ),
                },
                { name: 'Value', kind: 'wide', value: ({ value }) => value ?? '' },
                {
                  name: 'From',
                  value: ({ source }) => (
                    <Badge tone={source === 'default' ? 'plain' : 'good'}>{source}</Badge>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
    </>
  )
}

/** The pages of operators, with the names that `pages.ts` uses. */
export const operatorOverview: PageModule = { title: 'Overview', Page: Overview }
export const operatorWorkspaces: PageModule = { title: 'Workspaces', Page: Workspaces }
export const operatorProviders: PageModule = { title: 'Providers', Page: Providers }
export const operatorQueues: PageModule = { title: 'Queues', Page: Queues }
export const operatorPurchases: PageModule = { title: 'Purchases under review', Page: Purchases }
export const operatorBooks: PageModule = { title: 'Ledger and backups', Page: Books }
export const operatorAudit: PageModule = { title: "Operators' audit log", Page: Audit }
export const operatorSettings: PageModule = { title: 'Service settings', Page: Settings }
