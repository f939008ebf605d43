import type { CodeVerification, VerificationsStatsData } from '@svc/client'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  Chart,
  type Column,
  copyText,
  Empty,
  ListPage,
  Loaded,
  PageHead,
  Search,
  Select,
  Table,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { countryName, number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { filtersOf, go, hrefOf, query, root, setQuery } from '../../shell/router.ts'
import { chosenWorkspace, may, mode, session } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { inputTime, instantOf } from '../../shell/time-zone.ts'
import { CHANNELS, channelName } from '../messages/channels.ts'
import { CodeStatus, VerificationDrawer } from './drawer.tsx'
import { PausedCountries } from './paused.tsx'

type Funnel = VerificationsStatsData['funnel']
type Steps = Funnel['total']

const PERIODS = [
  ['1', t('Last 24 hours')],
  ['7', t('Last 7 days')],
  ['30', t('Last 30 days')],
] as const

const STATUSES = [
  ['', t('All statuses')],
  ['pending', t('Pending')],
  ['approved', t('Approved')],
  ['expired', t('Expired')],
  ['canceled', t('Canceled')],
  ['max_attempts', t('Too many wrong codes')],
  ['external', t('Checked elsewhere')],
] as const

/** The page has two requests, and a person may make 600 in a minute. */
const STATS_MS = 5_000

/** The countries that are shown before the others are asked for. */
const COUNTRIES_SHOWN = 5

const HOUR_MS = 3_600_000

const COLUMNS: readonly Column<CodeVerification>[] = [
  { name: t('To'), kind: 'main', value: ({ to }) => to },
  { name: t('Channel'), value: ({ channel }) => channelName(channel) },
  {
    name: t('Status'),
    value: ({ status, livemode }) => (
      <>
        <CodeStatus status={status} />
        {!livemode && mode.value === 'live' && <Badge tone="warn">{t('test')}</Badge>}
      </>
    ),
  },
  { name: t('Messages'), kind: 'number', value: ({ messages_sent }) => number(messages_sent) },
  { name: t('Wrong codes'), kind: 'number', value: ({ attempts }) => number(attempts) },
  { name: t('Started'), value: ({ created_at }) => <Time at={created_at} /> },
]

function Verifications({ params: { id } }: PageProps) {
  const given = query.value.get('days') ?? ''
  const days = given === '1' || given === '30' ? given : '7'
  const filter = filtersOf('status', 'channel', 'to', 'after')
  const stats = useLoad(
    (signal) => api.verifications.stats({ days: Number(days) }, { signal }),
    [days],
  )
  const list = useLoad(
    (signal) => api.verifications.list({ ...filter, limit: 25 }, { signal }),
    [filter],
  )
  const reload = () => {
    stats.reload()
    list.reload()
  }
  useLiveReload('verification.', reload, { every_ms: STATS_MS })
  useLiveReload('message.', reload, { every_ms: STATS_MS })
  const address = location.search
  const isUnused =
    Object.keys(filter).length === 0 &&
    list.data?.verifications.length === 0 &&
    stats.data?.funnel.total.requested === 0
  return (
    <>
      <PageHead
        title={t('One-time codes')}
        text={t('Codes with which people prove a phone number or an e-mail address.')}
      >
        {!isUnused && (
          <Select
            bare
            label={t('Period')}
            value={days}
            options={PERIODS}
            onInput={(next) => setQuery({ days: next === '7' ? '' : next })}
          />
        )}
      </PageHead>
      {stats.data && (
        <PausedCountries paused={stats.data.paused}>
          {() =>
            may('operate') ? <ToResume /> : t('If people wait for these codes, ask the operator.')
          }
        </PausedCountries>
      )}
      {isUnused ? (
        <Unused />
      ) : (
        <div class="stack">
          <Loaded of={stats}>
            {({ funnel }) => <Numbers funnel={funnel} days={Number(days)} />}
          </Loaded>
          <section>
            <h2 class="section">{t('Verifications')}</h2>
            <div class="filters">
              <Search
                placeholder={t('Phone number or e-mail address')}
                value={filter.to ?? ''}
                onInput={(to) => setQuery({ to })}
              />
              <Select
                bare
                label={t('Channel')}
                value={filter.channel ?? ''}
                options={[['', t('All channels')], ...CHANNELS]}
                onInput={(channel) => setQuery({ channel })}
              />
              <Select
                bare
                label={t('Status')}
                value={filter.status ?? ''}
                options={STATUSES}
                onInput={(status) => setQuery({ status })}
              />
            </div>
            <ListPage
              of={list}
              rowsOf={(answer) => answer.verifications}
              label={t('Verifications')}
              columns={COLUMNS}
              keyOf={(one) => one.id}
              to={(one) => `/verifications/${one.id}${address}`}
              current={id}
              noun="verification"
              empty={<Empty icon="codes" title={t('No verification matches')} />}
            />
          </section>
        </div>
      )}
      {id && (
        <VerificationDrawer
          key={id}
          id={id}
          onChange={reload}
          onClose={() => go(`/verifications${address}`)}
        />
      )}
    </>
  )
}

/** The funnel of a period: in total, over time and by country. */
function Numbers({ funnel, days }: { funnel: Funnel; days: number }) {
  const { total, hours, since } = funnel
  if (total.requested === 0) {
    return <Empty icon="codes" title={t('No codes in this period')} />
  }
  const points = pointsOf(hours, days)
  return (
    <div class="stack">
      <section class="cards" aria-label={t('Funnel')}>
        <Step name={t('Requested')} value={total.requested} of={total.requested} />
        <Step name={t('Sent')} value={total.sent} of={total.requested} />
        <Step name={t('Delivered')} value={total.delivered} of={total.requested} />
        <Step name={t('Approved')} value={total.approved} of={total.requested} />
      </section>
      {Date.parse(since) > Date.now() - days * 24 * HOUR_MS && (
        <p class="small">
          {rich('Only the newest {requested} are counted, from {time} on.', {
            requested: number(total.requested),
            time: <Time at={since} exact />,
          })}
        </p>
      )}
      <section class="card">
        <h2>
          {days > 7
            ? t('Codes by the day of their request')
            : t('Codes by the hour of their request')}
        </h2>
        <Chart
          label={t('Codes: {requested} requested, {delivered} delivered, {approved} approved', {
            requested: number(total.requested),
            delivered: number(total.delivered),
            approved: number(total.approved),
          })}
          times={points.map(([at]) => at / 1000)}
          series={[
            {
              name: t('Requested'),
              colour: '--accent',
              values: points.map(([, n]) => n.requested),
            },
            {
              name: t('Delivered'),
              colour: '--text-2',
              values: points.map(([, n]) => n.delivered),
            },
            { name: t('Approved'), colour: '--good', values: points.map(([, n]) => n.approved) },
          ]}
        />
      </section>
      <Countries of={funnel.countries} />
    </div>
  )
}

function Step({ name, value, of }: { name: string; value: number; of: number }) {
  return (
    <div class="card">
      <h2>{name}</h2>
      <p class="figure">{number(value)}</p>
      <progress max={of} value={value} aria-label={name} />
      <p class="small">{share(value, of)}</p>
    </div>
  )
}

/** A part of a whole: `55 %`; a dash of nothing. */
function share(part: number, whole: number): string {
  return whole === 0 ? '–' : `${Math.round((part / whole) * 100)} %`
}

type Point = [at_ms: number, steps: Pick<Steps, 'requested' | 'delivered' | 'approved'>]

/** Points for each hour of the last days, also for those without codes; for each day in place of more than seven days. */
function pointsOf(hours: Funnel['hours'], days: number): Point[] {
  const begin = (at_ms: number) => {
    if (days <= 7) return at_ms - (at_ms % HOUR_MS)
    return instantOf(`${inputTime(at_ms).slice(0, 10)}T00:00`).getTime()
  }
  const points = new Map<number, Point[1]>()
  for (let ago = days * 24; ago >= 0; ago--) {
    points.set(begin(Date.now() - ago * HOUR_MS), { requested: 0, delivered: 0, approved: 0 })
  }
  for (const { since, requested, delivered, approved } of hours) {
    const sum = points.get(begin(Date.parse(since)))
    if (!sum) continue
    sum.requested += requested
    sum.delivered += delivered
    sum.approved += approved
  }
  return [...points]
}

const STEPS: readonly Column<Funnel['countries'][number]>[] = [
  {
    name: t('Country'),
    kind: 'main',
    value: ({ country }) => (country === null ? t('E-mail addresses') : countryName(country)),
  },
  { name: t('Requested'), kind: 'number', value: (one) => number(one.requested) },
  { name: t('Sent'), kind: 'number', value: (one) => number(one.sent) },
  { name: t('Delivered'), kind: 'number', value: (one) => number(one.delivered) },
  { name: t('Approved'), kind: 'number', value: (one) => number(one.approved) },
  { name: t('Conversion'), kind: 'number', value: ({ approved, sent }) => share(approved, sent) },
]

function Countries({ of }: { of: Funnel['countries'] }) {
  const [isWhole, setWhole] = useState(false)
  return (
    <section>
      <h2 class="section">{t('Conversion by country')}</h2>
      <Table
        label={t('Conversion by country')}
        columns={STEPS}
        rows={isWhole ? of : of.slice(0, COUNTRIES_SHOWN)}
        keyOf={({ country }) => country ?? ''}
      />
      {!isWhole && of.length > COUNTRIES_SHOWN && (
        <Button kind="quiet" onClick={() => setWhole(true)}>
          {rich('Show all {length}', { length: number(of.length) })}
        </Button>
      )}
    </section>
  )
}

/** Only an operator can end the pause of a country, on the page of the workspace for operators. */
function ToResume() {
  const workspaceId = chosenWorkspace.value ?? session.value?.workspace_id
  return (
    <a href={hrefOf(`/operator/workspaces/${workspaceId}`)}>
      {t('“Resume” in {name}', { name: t('Workspaces') })}
    </a>
  )
}

function Unused() {
  const curl = [
    `curl -s ${root}/api/v1/verifications \\`,
    `  -H 'X-API-Key: <your key>' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"to":"+15005550006","channel":"sms"}'`,
  ].join('\n')
  return (
    <Empty icon="codes" title={t('No codes yet')}>
      <p>
        {t(
          'Your program requests a code for a person, and checks what the person types in. The service makes the code, limits the guesses and stops bots.',
        )}
      </p>
      <pre>{curl}</pre>
      <span class="actions">
        <Button
          icon="copy"
          onClick={async () => {
            await copyText(curl)
            toast(t('Copied.'))
          }}
        >
          {t('Copy the command')}
        </Button>
        <a
          class="button plain"
          href={`${root}/docs#verifications.start`}
          target="_blank"
          rel="noreferrer"
        >
          {t('Read the reference')}
        </a>
      </span>
    </Empty>
  )
}

export default { title: t('One-time codes'), Page: Verifications }
