import type { ComponentChildren } from 'preact'
import {
  Chart,
  Empty,
  ErrorBox,
  Icon,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  Select,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { count, countryName, number, relativeTime } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { hrefOf, query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { channelName } from '../messages/channels.ts'
import { type Breakdown, Breakdowns, Linked, listOf, type Outcomes, shareOf } from './breakdown.tsx'

interface Point extends Outcomes {
  since: string
}

const UNITS = [
  ['day', t('Last 30 days')],
  ['hour', t('Last 48 hours')],
] as const

/** Home has five requests, and a person may make 600 in a minute. */
const SUMS_MS = 5_000
const FINDINGS_MS = 20_000
const BREAKDOWN_MS = 20_000

const history = (unit: string, signal: AbortSignal) =>
  ownApi.get<{ points: Point[] }>('/history', { unit }, signal).then(({ points }) => points)

function Home({ mayOpen }: PageProps) {
  const unit = query.value.get('unit') === 'hour' ? 'hour' : 'day'
  const points = useLoad((signal) => history(unit, signal), [unit])
  const balance = useLoad(
    (signal) => api.workspaces.balance({ signal }).then(({ credits_balance }) => credits_balance),
    [],
  )
  const spent = useLoad(
    (signal) =>
      ownApi
        .get<{ days: { spent: number }[] }>('/spending/days', { days: '30' }, signal)
        .then(({ days }) => Number(days.reduce((sum, one) => sum + one.spent, 0).toFixed(6))),
    [],
  )
  const findings = useLoad((signal) => ownApi.get<Findings>('/findings', {}, signal), [])
  const reloadSums = () => {
    points.reload()
    balance.reload()
  }
  const breakdown = useLoad(
    (signal) => ownApi.get<Breakdown>('/breakdown', { unit }, signal),
    [unit],
  )
  useLiveReload('message.', reloadSums, { every_ms: SUMS_MS })
  const reloadParts = () => {
    breakdown.reload()
    spent.reload()
  }
  useLiveReload('message.', reloadParts, { every_ms: BREAKDOWN_MS })
  useLiveReload('message.failed', findings.reload, { every_ms: FINDINGS_MS })
  useLiveReload('credits.', findings.reload)
  useLiveReload('verification.paused', findings.reload)
  const steps = findings.data?.steps
  return (
    <>
      <PageHead title={t('Home')}>
        <Select
          bare
          label={t('Period')}
          value={unit}
          options={UNITS}
          onInput={(one) => setQuery({ unit: one === 'day' ? '' : one })}
        />
        {may('develop') && (
          <LinkButton icon="keys" to="/keys">
            {t('API keys')}
          </LinkButton>
        )}
        {may('send') && (
          <LinkButton kind="primary" icon="compose" to="/compose">
            {t('New message')}
          </LinkButton>
        )}
      </PageHead>
      {findings.error !== undefined && <ErrorBox error={findings.error} />}
      <FindingList findings={findings.data?.findings ?? []} mayOpen={mayOpen} />
      <Loaded of={points}>
        {(found) => (
          <div class="stack">
            <section class="cards">
              <Figure name={t('Accepted')} value={sum(found, 'accepted')} to={listOf(unit)} />
              <Figure
                name={t('Delivered')}
                value={sum(found, 'delivered')}
                to={listOf(unit, { status: 'delivered_or_read' })}
              >
                <small>{shareOf(sumsOf(found))}</small>
              </Figure>
              <Figure
                name={t('Failed')}
                value={sum(found, 'failed')}
                to={listOf(unit, { status: 'failed_only' })}
              >
                {sum(found, 'canceled') > 0 && (
                  <Linked to={listOf(unit, { status: 'canceled' })}>
                    {rich('{number} canceled', { number: number(sum(found, 'canceled')) })}
                  </Linked>
                )}
              </Figure>
              <Credits name={t('Spent')} of={spent} to="/credits/why">
                <small>{t('Last 30 days, before refunds')}</small>
              </Credits>
              <Credits name={t('Balance')} of={balance} to="/credits" />
            </section>
            {steps ? <FirstSteps {...steps} /> : <Curve points={found} />}
            {sum(found, 'accepted') > 0 && (
              <Loaded of={breakdown}>{(data) => <Breakdowns of={data} unit={unit} />}</Loaded>
            )}
          </div>
        )}
      </Loaded>
    </>
  )
}

function sum(points: readonly Point[], name: keyof Outcomes): number {
  return points.reduce((total, point) => total + point[name], 0)
}

function sumsOf(points: readonly Point[]): Outcomes {
  const of = (name: keyof Outcomes) => sum(points, name)
  return {
    accepted: of('accepted'),
    delivered: of('delivered'),
    failed: of('failed'),
    canceled: of('canceled'),
  }
}

function Figure({
  name,
  value,
  to,
  children,
}: {
  name: string
  value: number
  to: string
  children?: ComponentChildren
}) {
  return (
    <div class="card">
      <h2>{name}</h2>
      <p class="figure">
        <Linked to={to}>{number(value)}</Linked>
      </p>
      {children}
    </div>
  )
}

/** Credits with a link to the page that explains them. */
function Credits({
  name,
  of: { data, error },
  to,
  children,
}: {
  name: string
  of: Load<number>
  to: string
  children?: ComponentChildren
}) {
  return (
    <div class="card">
      <h2>{name}</h2>
      {error !== undefined && <ErrorBox error={error} />}
      <p class="figure">
        <a href={hrefOf(to)}>{data === undefined ? '…' : <Money credits={data} />}</a>
      </p>
      {children}
    </div>
  )
}

function Curve({ points }: { points: readonly Point[] }) {
  if (sum(points, 'accepted') === 0) {
    return (
      <Empty icon="messages" title={t('No messages in this period')}>
        <p>{t('Send a message, and its way appears here.')}</p>
        {may('read') && <LinkButton to="/messages">{t('Messages')}</LinkButton>}
      </Empty>
    )
  }
  return (
    <section class="card">
      <h2>{t('Messages by the time of their creation')}</h2>
      <Chart
        label={t('Messages: {accepted} accepted, {delivered} delivered, {failed} failed', {
          accepted: number(sum(points, 'accepted')),
          delivered: number(sum(points, 'delivered')),
          failed: number(sum(points, 'failed')),
        })}
        times={points.map(({ since }) => Date.parse(since) / 1000)}
        series={[
          { name: t('Accepted'), colour: '--accent', values: points.map((one) => one.accepted) },
          { name: t('Delivered'), colour: '--good', values: points.map((one) => one.delivered) },
          { name: t('Failed'), colour: '--bad', values: points.map((one) => one.failed) },
        ]}
      />
    </section>
  )
}

interface Finding {
  kind: string
  id: string | null
  name: string | null
  count: number | null
  until: string | null
}

/** What needs attention in the workspace, and its first steps. */
interface Findings {
  findings: Finding[]
  steps: { has_key: boolean; has_webhook: boolean } | null
}

/** A sentence about a finding, and the page that helps; null for none. */
function described({
  kind,
  id,
  name,
  count: n,
  until,
}: Finding): [text: string, to: string | null] {
  switch (kind) {
    case 'frozen':
      return [
        t('The workspace is frozen: sends are refused. Ask the operator of the service.'),
        null,
      ]
    case 'sending_paused':
      return [t('The operator has paused all sending: messages wait.'), '/messages?status=queued']
    case 'no_credits':
      return [t('There are no credits: sends are refused.'), '/credits']
    case 'low_balance':
      return [t('The balance is below its threshold.'), '/credits']
    case 'email_unverified':
      return [t('The e-mail address of the workspace is not verified.'), '/settings']
    case 'webhook_disabled':
      return [
        t('Events do not reach {name}: this webhook is disabled.', { name }),
        `/webhooks/${id}`,
      ]
    case 'webhook_failing':
      return [
        until && Date.parse(until) > Date.now()
          ? t('Deliveries to {name} fail; the next attempt is {until}.', {
              name,
              until: relativeTime(until),
            })
          : t('Deliveries to {name} fail.', { name }),
        `/webhooks/${id}`,
      ]
    case 'domain_unverified':
      return [t('{name} is not verified yet, so it cannot send.', { name }), `/domains/${id}`]
    case 'domain_failing':
      return [t('A DNS record of {name} is missing.', { name }), `/domains/${id}`]
    case 'failures':
      return [
        name === null
          ? t('{messages} failed in the last hour, most with an unknown error.', {
              messages: count(n ?? 0, 'message'),
            })
          : t('{messages} failed in the last hour, most with {error}.', {
              messages: count(n ?? 0, 'message'),
              error: wordOf(name),
            }),
        '/messages?status=failed_only&period=1',
      ]
    case 'bulk_paused':
      return [
        name === null
          ? t('A bulk is paused: {messages} wait until it is resumed.', {
              messages: count(n ?? 0, 'message'),
            })
          : t('The bulk {name} is paused: {messages} wait until it is resumed.', {
              name,
              messages: count(n ?? 0, 'message'),
            }),
        `/bulks/${id}`,
      ]
    case 'codes_paused':
      return [
        t('One-time codes to {country} are paused: too few of them were approved.', {
          country: countryName(name ?? ''),
        }),
        '/verifications',
      ]
    default:
      return [
        `${t('{channel} is paused by its provider or the operator.', {
          channel: channelName(name ?? ''),
        })} ${t('Messages are accepted and paid for, and wait until the pause ends.')}`,
        `/messages?status=queued&channel=${name}`,
      ]
  }
}

/** The list of findings; nothing if all is well. */
function FindingList({
  findings,
  mayOpen,
}: Pick<Findings, 'findings'> & Pick<PageProps, 'mayOpen'>) {
  if (findings.length === 0) return null
  return (
    <section class="card findings" aria-label={t('Findings')}>
      <ul>
        {findings.map((finding) => {
          const [text, to] = described(finding)
          return (
            <li key={finding.kind + finding.id} dir="auto">
              <Icon name="warning" />
              {to && mayOpen(to) ? <a href={hrefOf(to)}>{text}</a> : text}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

/** The first steps of a workspace without messages. */
function FirstSteps({ has_key, has_webhook }: NonNullable<Findings['steps']>) {
  const steps = [
    [
      false,
      t('Send your first message'),
      t('In test mode it costs nothing and reaches no recipient.'),
      '/compose',
      'send',
    ],
    [has_key, t('Create an API key'), t('Your program sends with it.'), '/keys', 'develop'],
    [
      has_webhook,
      t('Add a webhook'),
      t('It reports deliveries and answers to your program.'),
      '/webhooks',
      'develop',
    ],
  ] as const
  return (
    <section class="card">
      <h2>{t('First steps')}</h2>
      <ul class="steps">
        {steps
          .filter(([, , , , need]) => may(need))
          .map(([isDone, title, text, to]) => (
            <li key={title}>
              <Icon name={isDone ? 'check' : 'right'} />
              <div>
                <strong>{title}</strong>
                <p class="muted">{text}</p>
              </div>
              {!isDone && <LinkButton to={to}>{t('Begin')}</LinkButton>}
            </li>
          ))}
      </ul>
    </section>
  )
}

export default { title: t('Home'), Page: Home }
