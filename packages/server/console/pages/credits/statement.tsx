import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'
import { Button, Loaded, Money, PageHead, Select, Table } from '../../parts/index.ts'
import { exactTime, number, utcDay } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { query, setQuery } from '../../shell/router.ts'
import { session } from '../../shell/session.ts'
import { LOCALE, rich, t } from '../../shell/text.ts'
import { TYPES } from './spending.tsx'

interface Month {
  month: string
  opening: number
  closing: number
  counted_until: string | null
  lines: { day: string; kind: string; count: number; credits: number }[]
}

const MONTHS_SHOWN = 36

/** The changes of the credits in a month between two balances, for the books: as a page that prints, and as CSV. */
export function Statement() {
  const months = monthsUntil(new Date())
  const month = query.value.get('month') ?? months[0] ?? ''
  const load = useLoad((signal) => ownApi.get<Month>(`/statements/${month}`, {}, signal), [month])
  const name = session.value?.workspaces.find(({ id }) => id === session.value?.workspace_id)?.name
  return (
    <>
      <PageHead title={t('Statement of {month}', { month: monthName(month) })} text={name}>
        <Select
          bare
          label={t('Month')}
          value={month}
          options={months.map((one) => [one, monthName(one)])}
          onInput={(one) => setQuery({ month: one })}
        />
        <Button icon="download" disabled={!load.data} onClick={() => load.data && save(load.data)}>
          {t('CSV')}
        </Button>
        <Button onClick={() => print()}>{t('Print')}</Button>
      </PageHead>
      <Loaded of={load}>{(found) => <Lines of={found} />}</Loaded>
    </>
  )
}

function Lines({ of: { month, opening, closing, counted_until, lines } }: { of: Month }) {
  const rows = [
    {
      day: `${month}-01`,
      name: t('Opening balance'),
      count: null,
      credits: null,
      balance: opening,
    },
    ...lines.map(({ kind, ...line }, i) => ({
      ...line,
      name: TYPES[kind] ?? kind,
      balance: balanceAfter(opening, lines.slice(0, i + 1)),
    })),
    { day: null, name: t('Closing balance'), count: null, credits: null, balance: closing },
  ]
  return (
    <>
      {counted_until && (
        <p class="mode-note">
          {rich('The newest changes are not counted yet: this is the state of {counted_until}.', {
            counted_until: exactTime(counted_until),
          })}
        </p>
      )}
      <Table
        label={t('Statement')}
        columns={[
          { name: t('Change'), kind: 'main', value: (row) => row.name },
          { name: t('Day (UTC)'), value: ({ day }) => day && utcDay(day) },
          {
            name: t('Number'),
            kind: 'number',
            value: ({ count }) => count !== null && number(count),
          },
          {
            name: t('Credits'),
            kind: 'number',
            value: (row) => row.credits !== null && <Money credits={row.credits} signed />,
          },
          {
            name: t('Balance'),
            kind: 'number',
            value: ({ balance }) => <Money credits={balance} />,
          },
        ]}
        rows={rows}
        keyOf={({ day, name }) => `${day} ${name}`}
      />
      <p class="small muted">
        {t('Days are of UTC. Credits that are reserved for calls are not in the balance.')}
      </p>
    </>
  )
}

function balanceAfter(opening: number, lines: Month['lines']): number {
  const micro = lines.reduce((sum, { credits }) => sum + Math.round(credits * 1e6), 0)
  return (Math.round(opening * 1e6) + micro) / 1e6
}

function save({ month, opening, closing, lines }: Month) {
  const rows = lines.map(({ day, kind, count, credits }, i) => [
    ...[day, kind, count, credits],
    balanceAfter(opening, lines.slice(0, i + 1)),
  ])
  const text = csvText([
    ['day', 'kind', 'number', 'credits', 'balance'],
    [`${month}-01`, 'opening', null, null, opening],
    ...rows,
    [null, 'closing', null, null, closing],
  ])
  download(`credits-${month}.csv`, text)
}

/** The months until now, newest first, as `2026-05`. */
function monthsUntil(now: Date): string[] {
  return Array.from({ length: MONTHS_SHOWN }, (_, i) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - i, 1)).toISOString().slice(0, 7),
  )
}

const MONTH = new Intl.DateTimeFormat(LOCALE, { month: 'long', year: 'numeric', timeZone: 'UTC' })

function monthName(month: string): string {
  const begin = new Date(`${month}-01`)
  return Number.isNaN(begin.getTime()) ? month : MONTH.format(begin)
}
