import type { ComponentChildren } from 'preact'
import { type Column, Money, Table } from '../../parts/index.ts'
import { count, countryName, number } from '../../shell/format.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { plural, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { channelName } from '../messages/channels.ts'

/** Numbers of messages by what became of them; failed ones without canceled ones. */
export interface Outcomes {
  accepted: number
  delivered: number
  failed: number
  canceled: number
}

interface Place extends Outcomes {
  channel: string
  code: string | null
  country: string | null
  is_shared: boolean
  credits: number
}

/** How the messages of a period ended. */
export interface Breakdown {
  channels: (Outcomes & { channel: string })[]
  reasons: { error_code: string | null; count: number }[]
  reasons_examined: number
  places: Place[]
  places_examined: number
}

/** The delivered share of the messages that were not canceled. */
export function shareOf({ accepted, delivered, canceled }: Outcomes): string {
  const sent = accepted - canceled
  if (sent <= 0) return '–'
  // 99.96 % is not all.
  const tenths = Math.floor((delivered * 1000) / sent)
  return `${number(tenths / 10)} %`
}

/** Which messages the places and their credits cover. */
function coverOf({ channels, places, places_examined }: Breakdown): string {
  const all = channels.reduce((sum, { accepted }) => sum + accepted, 0)
  const known = places.reduce((sum, { accepted }) => sum + accepted, 0)
  if (all <= known) return t('All messages of the period, refunds subtracted.')
  return t('By {known} among the newest {places_examined}, refunds subtracted.', {
    known: count(known, 'message'),
    places_examined: number(places_examined),
  })
}

/** The list of messages of a period with more filters. */
export function listOf(unit: string, filters: Record<string, string> = {}): string {
  return `/messages?${new URLSearchParams({ period: unit === 'hour' ? '48' : '720', ...filters })}`
}

/** A link for people who may read messages, to others the plain text. */
export function Linked({ to, children }: { to: string; children: ComponentChildren }) {
  return may('read') ? <a href={hrefOf(to)}>{children}</a> : children
}

/** Why messages of a period failed, and how they ended for each channel and country. */
export function Breakdowns({ of, unit }: { of: Breakdown; unit: string }) {
  const { channels, places, reasons } = of
  const more = places.length - PLACES_SHOWN
  return (
    <>
      {reasons.length > 0 && <Reasons of={of} unit={unit} />}
      <section>
        <h2 class="section">{t('By channel')}</h2>
        <Table
          label={t('By channel')}
          columns={[
            { name: t('Channel'), kind: 'main', value: ({ channel }) => channelName(channel) },
            ...outcomesOf<Breakdown['channels'][number]>(({ channel }) => ({ channel }), unit),
          ]}
          rows={channels}
          keyOf={({ channel }) => channel}
        />
      </section>
      <section>
        <h2 class="section">{t('By country')}</h2>
        <Table
          label={t('By country')}
          columns={[
            { name: t('Country'), kind: 'main', value: placeName },
            { name: t('Channel'), value: ({ channel }) => channelName(channel) },
            ...outcomesOf<Place>(
              ({ channel, code }) =>
                code ? { channel, calling_code: code } : channel === 'email' && { channel },
              unit,
            ),
            {
              name: t('Net'),
              kind: 'number',
              value: ({ credits }) => <Money credits={credits} />,
            },
          ]}
          rows={places.slice(0, PLACES_SHOWN)}
          keyOf={({ channel, code }) => `${channel} ${code}`}
        />
        <p class="small muted">
          {coverOf(of)}{' '}
          {more > 0 &&
            plural(
              more,
              '{n} more country with fewer messages.',
              '{n} more countries with fewer messages.',
              number(more),
            )}
        </p>
      </section>
    </>
  )
}

/** More countries than a person compares. */
const PLACES_SHOWN = 20

function placeName({ channel, code, country, is_shared }: Place): string {
  if (channel === 'email') return t('E-mail addresses')
  const known = countryName(country ?? 'ZZ')
  const name = is_shared ? t('{country} and others', { country: known }) : known
  return code ? `${name} (+${code})` : name
}

/** The columns of outcomes, each number with a link to its messages. `filterOf`: false if no filter selects those of the row. */
function outcomesOf<Row extends Outcomes>(
  filterOf: (row: Row) => Record<string, string> | false,
  unit: string,
): Column<Row>[] {
  const column = (name: string, key: keyof Outcomes, status: string): Column<Row> => ({
    name,
    kind: 'number',
    value: (row) => {
      const filter = row[key] > 0 && filterOf(row)
      const shown = number(row[key])
      if (!filter) return shown
      return <Linked to={listOf(unit, { ...filter, ...(status && { status }) })}>{shown}</Linked>
    },
  })
  return [
    column(t('Accepted'), 'accepted', ''),
    column(t('Delivered'), 'delivered', 'delivered_or_read'),
    { name: t('Share without canceled'), kind: 'number', value: shareOf },
    column(t('Failed'), 'failed', 'failed_only'),
    column(t('Canceled'), 'canceled', 'canceled'),
  ]
}

const REASONS_SHOWN = 10

function Reasons({ of: { reasons, reasons_examined }, unit }: { of: Breakdown; unit: string }) {
  const all = reasons.reduce((sum, one) => sum + one.count, 0)
  return (
    <section class="card">
      <h2>{t('Why messages failed')}</h2>
      <ul class="bars">
        {reasons.slice(0, REASONS_SHOWN).map(({ error_code, count: n }) => (
          <li key={error_code}>
            {error_code ? (
              <Linked to={listOf(unit, { error_code })}>{wordOf(error_code)}</Linked>
            ) : (
              t('Without a reason')
            )}
            <span>
              {error_code ? (
                <Linked to={listOf(unit, { error_code })}>{number(n)}</Linked>
              ) : (
                number(n)
              )}
            </span>
            <progress
              max={all}
              value={n}
              aria-label={t('{n} of {all}', { n: number(n), all: number(all) })}
            />
          </li>
        ))}
      </ul>
      <p class="small muted">
        {reasons.length > REASONS_SHOWN &&
          t('The {number} most frequent.', { number: REASONS_SHOWN })}{' '}
        {t('Among the newest {reasons_examined} failed or canceled messages of each channel.', {
          reasons_examined: number(reasons_examined),
        })}
      </p>
    </section>
  )
}
