import type { Contact, Message, ReceivedMessage, Suppression } from '@svc/client'
import {
  Badge,
  Button,
  type Column,
  Empty,
  Facts,
  LinkButton,
  Loaded,
  PageHead,
  Pager,
  StatusBadge,
  Table,
  Tabs,
  Time,
} from '../../parts/index.ts'
import { useLiveReload } from '../../shell/live.ts'
import { type Load, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { filtersOf, hrefOf, query, setQuery } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { LOCALE, rich, t } from '../../shell/text.ts'
import { CHANNELS, channelName } from '../messages/channels.ts'
import { summaryOf } from '../messages/content.tsx'
import { statusOf } from '../messages/schedule.ts'
import { reasonName } from '../suppressions/reasons.ts'
import { CodeStatus } from '../verifications/drawer.tsx'

interface Person {
  contact: Contact
  suppressions: (Suppression & { received_id: string | null })[]
  zone: { time_zone: string; source: 'contact' | 'country' | 'workspace' }
}

type Entry =
  | {
      kind: 'message'
      message: Omit<Message, 'content'> & { content: Message['content'] | null }
      bulk: { id: string; name: string | null; broadcast_id: string | null } | null
    }
  | { kind: 'received'; received: ReceivedMessage }
  | { kind: 'verification'; verification: Parameters<typeof CodeStatus>[0] & Code }

interface Code {
  id: string
  to: string
  channel: string
  created_at: string
}

/** Everything about one contact: its addresses, its consent, and all that was sent and received. */
function PersonPage({ params: { id = '' } }: PageProps) {
  const load = useLoad((signal) => ownApi.get<Person>(`/people/${id}`, {}, signal), [id])
  return (
    <Loaded of={load}>
      {(person) => (
        <>
          <PageHead title={nameOf(person.contact)} text={t('Everything about this contact')}>
            <LinkButton icon="contacts" to={`/contacts/${id}`}>
              {may('send') ? t('Edit') : t('Contacts')}
            </LinkButton>
            {may('send') && (
              <LinkButton
                kind="primary"
                icon="compose"
                to={`/compose?${writingTo(person.contact)}`}
              >
                {t('Send message')}
              </LinkButton>
            )}
          </PageHead>
          <div class="cards halves">
            <Who {...person} />
            <Consent {...person} />
          </div>
          <History id={id} contact={person.contact} />
        </>
      )}
    </Loaded>
  )
}

const nameOf = ({ name, phone, email }: Contact) => name ?? phone ?? email ?? t('Contact')

const writingTo = ({ phone, email }: Contact) =>
  new URLSearchParams(phone ? { to: phone } : { channel: 'email', to: email ?? '' })

const ZONE_SOURCES = {
  contact: t('from its attribute time_zone'),
  country: t('from the country of the number'),
  workspace: t('from the workspace'),
} as const

function Who({ contact, zone: { time_zone, source } }: Person) {
  const { phone, email, external_id, tags, attributes, created_at, updated_at } = contact
  const clock = new Intl.DateTimeFormat(LOCALE, { timeStyle: 'short', timeZone: time_zone })
  return (
    <section class="card">
      <h2>{t('Contact')}</h2>
      <Facts
        of={{
          [t('Phone')]: phone,
          [t('E-mail')]: email,
          [t('Own id')]: external_id,
          [t('Tags')]: tags.length > 0 && (
            <span class="tags">
              {tags.map((tag) => (
                <a
                  key={tag}
                  class="badge"
                  href={hrefOf(`/contacts?${new URLSearchParams({ tag })}`)}
                >
                  {tag}
                </a>
              ))}
            </span>
          ),
          [t('Local time')]: (
            <>
              {clock.format(new Date())}{' '}
              <small>
                {time_zone}, {ZONE_SOURCES[source]}
              </small>
            </>
          ),
          [t('Added')]: <Time at={created_at} />,
          [t('Changed')]: updated_at !== created_at && <Time at={updated_at} />,
        }}
      />
      {/* Apart, because an attribute may have the name of a fact. */}
      <Facts
        of={Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [
            name,
            typeof value === 'object' ? <code>{JSON.stringify(value)}</code> : String(value),
          ]),
        )}
      />
    </section>
  )
}

interface ChannelConsent {
  channel: string
  name: string
  address: string | null
  state: 'subscribed' | 'unsubscribed' | undefined
  suppression: Person['suppressions'][number] | undefined
}

function consentOf({ contact, suppressions }: Person): ChannelConsent[] {
  return CHANNELS.map(([channel, name]) => ({
    channel,
    name,
    address: channel === 'email' ? contact.email : contact.phone,
    state: contact.subscriptions[channel],
    suppression: suppressions.find((one) => one.channel === channel),
  }))
}

const CONSENT: readonly Column<ChannelConsent>[] = [
  { name: t('Channel'), kind: 'main', value: ({ name }) => name },
  {
    name: t('Messages'),
    value: ({ address, state, suppression }) => {
      if (suppression) {
        return (
          <>
            <Badge tone="bad">
              {rich('none: {reason}', { reason: reasonName(suppression.reason) })}
            </Badge>
            <small class="line">
              <Time at={suppression.created_at} />, <Cause of={suppression} />
            </small>
          </>
        )
      }
      if (state === 'unsubscribed') return <Badge tone="bad">{t('none: unsubscribed')}</Badge>
      if (address === null) return <span class="muted">{t('no address')}</span>
      return (
        <Badge tone="good">{state === 'subscribed' ? t('subscribed') : t('not refused')}</Badge>
      )
    },
  },
]

/** Where a suppression is from. */
function Cause({
  of: { channel, address, reason, received_id },
}: {
  of: Person['suppressions'][number]
}) {
  if (!received_id) return <>{CAUSES[reason]}</>
  const thread = `/received/${channel}/${encodeURIComponent(address)}`
  return <a href={hrefOf(thread)}>{t('by a reply')}</a>
}

const CAUSES: Record<Suppression['reason'], string> = {
  opt_out: t('by the person, or with the contact'),
  bounce: t('the address took no message'),
  complaint: t('a message was reported as unwanted'),
  manual: t('by a member or a program'),
}

function Consent(person: Person) {
  return (
    <section class="card">
      <h2>{t('Consent')}</h2>
      <Table
        label={t('Consent by channel')}
        columns={CONSENT}
        rows={consentOf(person)}
        keyOf={({ channel }) => channel}
      />
    </section>
  )
}

const KINDS = [
  ['', t('All')],
  ['message', t('Sent')],
  ['received', t('Received')],
  ['verification', t('Codes')],
] as const

const HISTORY: readonly Column<Entry>[] = [
  { name: t('What'), kind: 'main', value: whatOf },
  { name: t('Content'), kind: 'wide', value: contentOf },
  { name: t('Channel'), value: (entry) => channelName(rowOf(entry).channel) },
  { name: t('Status'), value: stateOf },
  { name: t('When'), value: (entry) => <Time at={rowOf(entry).created_at} /> },
]

/** What all kinds have. */
function rowOf(entry: Entry): { id: string; channel: string; created_at: string } {
  if (entry.kind === 'message') return entry.message
  return entry.kind === 'received' ? entry.received : entry.verification
}

function whatOf(entry: Entry): string {
  if (entry.kind === 'received') return t('Received')
  if (entry.kind === 'verification') return t('One-time code')
  if (!entry.bulk) return t('Sent')
  return entry.bulk.broadcast_id ? t('Sent by a broadcast') : t('Sent by a bulk')
}

function contentOf(entry: Entry) {
  if (entry.kind === 'verification') return t('to {to}', { to: entry.verification.to })
  if (entry.kind === 'received') return entry.received.content.text ?? t('Media')
  const { message, bulk } = entry
  return (
    <>
      {summaryOf(message.content)}
      {bulk?.name && <small class="line">{bulk.name}</small>}
    </>
  )
}

function stateOf(entry: Entry) {
  if (entry.kind === 'verification') return <CodeStatus status={entry.verification.status} />
  if (entry.kind === 'received') {
    const { keyword } = entry.received
    return (
      keyword && (
        <Badge tone={keyword === 'stop' ? 'bad' : 'plain'}>
          {rich('acted on as {keyword}', { keyword })}
        </Badge>
      )
    )
  }
  const status = statusOf(entry.message)
  const { error_message } = entry.message
  return (
    <>
      <StatusBadge status={status} />
      {status === 'failed' && error_message && <small class="reason">{error_message}</small>}
    </>
  )
}

function placeOf(entry: Entry): string {
  if (entry.kind === 'message') return `/messages/${entry.message.id}`
  if (entry.kind === 'verification') return `/verifications/${entry.verification.id}`
  const { channel, sender } = entry.received
  return `/received/${channel}/${encodeURIComponent(sender)}`
}

interface Entries {
  entries: Entry[]
  next_after: string | null
}

function History({ id, contact: { phone, email } }: { id: string; contact: Contact }) {
  const filter = filtersOf('kind', 'channel', 'after')
  const load: Load<Entries> = useLoad(
    (signal) => ownApi.get(`/people/${id}/history`, { ...filter, limit: '25' }, signal),
    [id, filter],
  )
  const own = [phone, email?.toLowerCase()]
  useLiveReload('message.', load.reload, {
    isAbout: ({ data }) =>
      [data.recipient, data.sender].some(
        (one) => typeof one === 'string' && own.includes(one.toLowerCase()),
      ) && !filter.after,
  })
  return (
    <section class="card" aria-label={t('History')}>
      <div class="filters">
        <h2>{t('History')}</h2>
        <Tabs
          label={t('Kind')}
          tabs={KINDS}
          current={filter.kind ?? ''}
          onChoose={(kind) => setQuery({ kind })}
        />
        {query.value.get('channel') && (
          <Button icon="close" onClick={() => setQuery({ channel: '' })}>
            {channelName(filter.channel ?? '')}
          </Button>
        )}
      </div>
      <Loaded of={load}>
        {({ entries, next_after }) => (
          <>
            {entries.length > 0 ? (
              <Table
                label={t('History')}
                columns={HISTORY}
                rows={entries}
                keyOf={(entry) => rowOf(entry).id}
                to={placeOf}
              />
            ) : (
              <Empty icon="messages" title={t('Nothing here yet')}>
                <p>{t('Messages to and from the addresses of this contact appear here.')}</p>
              </Empty>
            )}
            <Pager next={next_after} noun="entry" plural="entries" />
          </>
        )}
      </Loaded>
    </section>
  )
}

export default { title: t('Contact'), Page: PersonPage }
