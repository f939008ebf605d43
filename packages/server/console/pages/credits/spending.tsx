import type { ComponentChildren } from 'preact'
import {
  Chart,
  type Column,
  Empty,
  LinkButton,
  Loaded,
  Money,
  PageHead,
  Select,
  Table,
} from '../../parts/index.ts'
import { count, credits, dayText, exactTime, number, utcDay } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { hrefOf, query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { plural, rich, t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'

/** What messages cost, what refunds returned, and what else changed the balance. */
interface Sides {
  spent: number
  refunded: number
  other: number
}

interface Cause extends Omit<Sides, 'other'> {
  cause_type: 'bulk' | 'broadcast'
  cause_id: string
  name: string | null
  channel: string | null
  refunds: number
}

interface Forecast {
  state: 'until' | 'over_a_year' | 'empty' | 'too_little_history' | 'no_spending'
  per_day?: number
  days: number
  until?: string
}

interface Spending {
  counted_until: string | null
  days: (Sides & { day: string })[]
  kinds: { kind: string; count: number; credits: number }[]
  channels: (Sides & { channel: string | null })[]
  keys: (Sides & { id: string | null; name: string | null })[]
  causes: Cause[]
  causes_examined: number
  forecast: Forecast
}

const PERIODS = [
  ['7', t('Last 7 days')],
  ['30', t('Last 30 days')],
  ['90', t('Last 90 days')],
] as const

/** The kinds of changes of the balance. */
export const TYPES: Record<string, string> = {
  purchase: t('Purchase'),
  purchase_adjust: t('Change of a purchase'),
  grant: t('Grant'),
  send: t('Message'),
  refund: t('Refund of a message'),
  hold: t('Reserved for a call'),
  settle: t('Price of a call'),
  void: t('Reservation ended'),
  expire: t('Expired'),
  adjustment: t('Correction'),
  opening: t('Sum of older transactions'),
}

/** The columns of what was spent, returned, and stayed spent. */
function sidesColumns<Row extends Omit<Sides, 'other'>>(): Column<Row>[] {
  return [
    { name: t('Spent'), kind: 'number', value: ({ spent }) => <Money credits={spent} /> },
    { name: t('Refunded'), kind: 'number', value: ({ refunded }) => <Money credits={refunded} /> },
    {
      name: t('Net'),
      kind: 'number',
      value: ({ spent, refunded }) => <Money credits={netOf({ spent, refunded })} />,
    },
  ]
}

/** Differences of decimals, without the error of binary fractions. */
function netOf({ spent, refunded }: Omit<Sides, 'other'>): number {
  return Math.round((spent - refunded) * 1e6) / 1e6
}

/** Why the credits changed: by day, channel, key, bulk and broadcast. Each choice narrows the others. */
export function WhyCredits() {
  const { value } = query
  const days = value.get('days') ?? '30'
  const [day, channel, key] = ['day', 'channel', 'key'].map((name) => value.get(name) ?? undefined)
  const load = useLoad(
    (signal) => ownApi.get<Spending>('/spending/days', { days, day, channel, key }, signal),
    [days, day, channel, key],
  )
  const isNarrowed = day ?? channel ?? key
  return (
    <div class="stack">
      <PageHead title={t('Where credits went')} />
      <div class="filters">
        <Select
          bare
          label={t('Period')}
          value={days}
          options={PERIODS}
          onInput={(one) => setQuery({ days: one, day: undefined })}
        />
        {isNarrowed && (
          <span>
            {[
              day && utcDay(day),
              channel && channelName(channel),
              key &&
                t('sent with {key}', {
                  key: nameOf(load.data?.keys.find(({ id }) => id === key)),
                }),
            ]
              .filter(Boolean)
              .join(', ')}{' '}
            <a href={hrefOf(`/credits/why?days=${days}`)}>{t('Show all')}</a>
          </span>
        )}
      </div>
      <Loaded of={load}>{(found) => <Answer found={found} />}</Loaded>
    </div>
  )
}

function Answer({ found }: { found: Spending }) {
  const { days, kinds, channels, keys, causes, counted_until } = found
  const day = query.value.get('day')
  const shown = day ? days.filter((one) => one.day === day) : days
  const spent = sum(shown.map((one) => one.spent))
  const refunded = sum(shown.map((one) => one.refunded))
  const other = sum(shown.map((one) => one.other))
  if (kinds.length === 0) {
    return (
      <Empty icon="credits" title={t('No credits moved here')}>
        <p>{t('Messages, refunds and purchases of this choice appear here.')}</p>
      </Empty>
    )
  }
  return (
    <div class="stack">
      {counted_until && (
        <p class="mode-note">
          {rich('The newest changes are not counted yet: this is the state of {counted_until}.', {
            counted_until: exactTime(counted_until),
          })}
        </p>
      )}
      <section class="cards">
        <Card name={t('Spent')} value={spent} />
        <Card name={t('Refunded')} value={refunded} />
        <Card name={t('Other changes')} value={other} signed />
        <Lasts of={found.forecast} />
      </section>
      <section class="card">
        <h2>{t('Credits by day (UTC)')}</h2>
        <Chart
          label={t('Credits: {spent} spent, {refunded} refunded', {
            spent: number(spent),
            refunded: number(refunded),
          })}
          times={days.map((one) => Date.parse(one.day) / 1000)}
          series={[
            { name: t('Spent'), colour: '--accent', values: days.map((one) => one.spent) },
            { name: t('Refunded'), colour: '--good', values: days.map((one) => one.refunded) },
          ]}
        />
      </section>
      {!day && (
        <Group name={t('By day')}>
          <Table
            label={t('By day')}
            columns={[
              {
                name: t('Day (UTC)'),
                kind: 'main',
                value: (one) => <a href={narrowed({ day: one.day })}>{utcDay(one.day)}</a>,
              },
              ...sidesColumns<Spending['days'][number]>(),
              {
                name: t('Other changes'),
                kind: 'number',
                value: (one) => <Money credits={one.other} signed />,
              },
            ]}
            rows={days.filter((one) => one.spent || one.refunded || one.other).reverse()}
            keyOf={(one) => one.day}
          />
        </Group>
      )}
      {causes.length > 0 && (
        <Group name={t('By bulk and broadcast')}>
          <Table
            label={t('By bulk and broadcast')}
            columns={CAUSES}
            rows={causes}
            keyOf={({ cause_id }) => cause_id}
          />
          <p class="small muted">
            {t('The refunds of a bulk are together, also those of later days.')}{' '}
            {causes.length === 50 && t('The 50 that cost most are shown.')}
          </p>
        </Group>
      )}
      {channels.length > 0 && (
        <Group name={t('By channel')}>
          <Table
            label={t('By channel')}
            columns={[
              {
                name: t('Channel'),
                kind: 'main',
                value: ({ channel }) =>
                  channel ? (
                    <a href={narrowed({ channel })}>{channelName(channel)}</a>
                  ) : (
                    t('Unknown')
                  ),
              },
              ...sidesColumns<Spending['channels'][number]>(),
            ]}
            rows={channels}
            keyOf={({ channel }) => `${channel}`}
          />
        </Group>
      )}
      {keys.length > 0 && (
        <Group name={t('By API key')}>
          <Table
            label={t('By API key')}
            columns={[
              {
                name: t('Sent with'),
                kind: 'main',
                value: (one) =>
                  one.id ? <a href={narrowed({ key: one.id })}>{nameOf(one)}</a> : nameOf(one),
              },
              ...sidesColumns<Spending['keys'][number]>(),
            ]}
            rows={keys}
            keyOf={({ id }) => `${id}`}
          />
        </Group>
      )}
      <Group name={t('By kind')}>
        <Table
          label={t('By kind')}
          columns={[
            { name: t('Change'), kind: 'main', value: ({ kind }) => TYPES[kind] ?? kind },
            { name: t('Changes'), kind: 'number', value: (one) => number(one.count) },
            {
              name: t('Credits'),
              kind: 'number',
              value: (one) => <Money credits={one.credits} signed />,
            },
          ]}
          rows={kinds}
          keyOf={({ kind }) => kind}
        />
      </Group>
    </div>
  )
}

const CAUSES: readonly Column<Cause>[] = [
  {
    name: t('Name'),
    kind: 'main',
    value: ({ cause_type, cause_id, name }) => {
      const text = name ?? (cause_type === 'bulk' ? t('Bulk') : t('Broadcast'))
      return may('read') ? <a href={hrefOf(`/${cause_type}s/${cause_id}`)}>{text}</a> : text
    },
  },
  {
    name: t('Kind'),
    value: ({ cause_type, channel }) =>
      [cause_type === 'bulk' ? t('Bulk') : t('Broadcast'), channel && channelName(channel)]
        .filter(Boolean)
        .join(', '),
  },
  { name: t('Refunds'), kind: 'number', value: ({ refunds }) => number(refunds) },
  ...sidesColumns<Cause>(),
]

function Group({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <section>
      <h2 class="section">{name}</h2>
      {children}
    </section>
  )
}

function Card({ name, value, signed }: { name: string; value: number; signed?: boolean }) {
  return (
    <div class="card">
      <h2>{name}</h2>
      <p class="figure">
        <Money credits={value} {...(signed && { signed })} />
      </p>
    </div>
  )
}

/** How long the credits last, and from what that follows. */
function Lasts({ of: { state, per_day = 0, days, until } }: { of: Forecast }) {
  const pace = t('{credits} a day on average, over {days}.', {
    credits: credits(Number(per_day.toPrecision(3))),
    days: count(days, 'complete day'),
  })
  const [figure, reason] = {
    until: [until ? t('until {until}', { until: dayText(until) }) : '', pace],
    over_a_year: [t('more than a year'), pace],
    empty: [t('used up'), pace],
    no_spending: [
      t('no spending'),
      t('Nothing was spent in {days}.', { days: count(days, 'complete day') }),
    ],
    too_little_history: [
      t('not known yet'),
      plural(
        days,
        'A forecast needs 3 complete days; there is {n}.',
        'A forecast needs 3 complete days; there are {n}.',
        number(days),
      ),
    ],
  }[state]
  return (
    <div class="card">
      <h2>{t('At this pace')}</h2>
      <p class="figure">{figure}</p>
      <p class="small">{reason}</p>
      {(state === 'empty' || state === 'until') && may('bill') && (
        <LinkButton to="/credits">{t('Balance and purchases')}</LinkButton>
      )}
    </div>
  )
}

function nameOf(key: { id: string | null; name: string | null } | undefined): string {
  if (!key) return t('one key')
  return key.id === null ? t('Unknown') : (key.name ?? t('Console'))
}

/** The page with one more filter. */
function narrowed(filter: Record<string, string>): string {
  const all = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries(filter)) all.set(name, value)
  return hrefOf(`/credits/why?${all}`)
}

function sum(values: readonly number[]): number {
  return Math.round(values.reduce((total, one) => total + one, 0) * 1e6) / 1e6
}
