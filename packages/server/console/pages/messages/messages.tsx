import type { Message } from '@svc/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import {
  Badge,
  Button,
  type Column,
  DayInput,
  Empty,
  ExportButton,
  FormDialog,
  LinkButton,
  Loaded,
  PageHead,
  Pager,
  Search,
  Select,
  StatusBadge,
  Table,
  TextInput,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { exactTime, number } from '../../shell/format.ts'
import { useLive, useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, hrefOf, query, setQuery } from '../../shell/router.ts'
import { may, mode } from '../../shell/session.ts'
import { plural, rich, t } from '../../shell/text.ts'
import { instantOf } from '../../shell/time-zone.ts'
import { wordOf } from '../../shell/words.ts'
import type { Breakdown } from '../home/breakdown.tsx'
import { CHANNELS, channelName } from './channels.ts'
import { summaryOf } from './content.tsx'
import { MessageDrawer } from './drawer.tsx'
import { SavedFilters } from './saved-filters.tsx'
import { isPlanned, statusOf } from './schedule.ts'

type Found = Omit<Message, 'content'> & {
  content: Message['content'] | null
  contact: { name: string | null } | null
}

interface Answer {
  messages: Found[]
  total: number | null
  next_after: string | null
  searched_until: string | null
}

const COLUMNS: readonly Column<Found>[] = [
  { name: t('Recipient'), kind: 'main', value: recipientOf },
  { name: t('Content'), kind: 'wide', value: ({ content }) => summaryOf(content) },
  { name: t('Channel'), value: ({ channel }) => channelName(channel) },
  {
    name: t('Status'),
    value: (message) => (
      <>
        <StatusBadge status={statusOf(message)} />
        <Reason of={message} />
        {isPlanned(statusOf(message)) && (
          <small>
            {' '}
            {rich('to be sent {time}', {
              time: <Time at={message.deferred_until ?? message.scheduled_at ?? ''} />,
            })}
          </small>
        )}
        {!message.livemode && mode.value === 'live' && <Badge tone="warn">{t('test')}</Badge>}
      </>
    ),
  },
  { name: t('Created'), value: ({ created_at }) => <Time at={created_at} /> },
]

function recipientOf({ recipient, recipients, contact }: Found) {
  const others = (recipients?.length ?? 1) - 1
  const address =
    others > 0
      ? plural(others, '{recipient} and {n} other', '{recipient} and {n} others', number(others), {
          recipient,
        })
      : recipient
  return contact?.name ? (
    <>
      {contact.name} <small class="line">{address}</small>
    </>
  ) : (
    address
  )
}

/** Why a message failed: one line. */
function Reason({ of }: { of: Found }) {
  const text = of.error_message ?? of.error_code
  if (statusOf(of) !== 'failed' || !text) return null
  return (
    <small class="reason" title={of.error_code ?? undefined}>
      {text}
    </small>
  )
}

const STATUSES = [
  ['', t('All statuses')],
  ['queued', t('Queued')],
  ['sent', t('Sent')],
  ['delivered', t('Delivered')],
  ['read', t('Read')],
  ['delivered_or_read', t('Delivered or read')],
  ['failed_only', t('Failed')],
  ['failed', t('Failed or canceled')],
  ['canceled', t('Canceled')],
] as const

const PERIODS = [
  ['', t('Any time')],
  ['1', t('Last hour')],
  ['24', t('Last 24 hours')],
  ['48', t('Last 48 hours')],
  ['168', t('Last 7 days')],
  ['720', t('Last 30 days')],
  ['dates', t('Dates …')],
] as const

const NAMES = [
  'search',
  'channel',
  'status',
  'period',
  'from',
  'to',
  'bulk_id',
  'broadcast_id',
  'error_code',
  'api_key_id',
  'sender',
  'tag',
  'calling_code',
  'contact_id',
  'after',
] as const

/** The filters in the address. */
function useFilter() {
  return Object.fromEntries(
    NAMES.map((name) => [name, query.value.get(name) || undefined]),
  ) as Record<(typeof NAMES)[number], string | undefined>
}

const HOUR_MS = 3_600_000

function datesOf({ period, from, to }: ReturnType<typeof useFilter>) {
  if (period !== 'dates') {
    const hours = Number(period)
    // The periods of Home begin with a whole hour or day (UTC): its numbers are those of this list.
    const step_ms = hours === 720 ? 24 * HOUR_MS : hours === 48 ? HOUR_MS : 1
    const begin_ms = Math.floor(Date.now() / step_ms + 1) * step_ms - hours * HOUR_MS
    return hours > 0 ? { startDate: new Date(begin_ms).toISOString() } : {}
  }
  const at = (day: string | undefined, time: string) => {
    const date = instantOf(`${day}T${time}`)
    return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
  }
  return { startDate: at(from, '00:00'), endDate: at(to, '23:59:59.999') }
}

function Messages({ params }: PageProps) {
  const filter = useFilter()
  const { period: _, from: __, to: ___, ...asked } = filter
  const { search, after } = filter
  const list = useLoad(
    (signal) =>
      ownApi.get<Answer>('/messages', { ...asked, limit: '25', ...datesOf(filter) }, signal),
    [filter],
  )
  // A change of a shown message needs no request.
  useLive('message.', ({ data }) => {
    const { data: shown } = list
    if (!shown?.messages.some(({ id }) => id === data.message_id)) return
    const messages = shown.messages.map((one) =>
      one.id === data.message_id
        ? {
            ...one,
            status: data.status as Found['status'],
            error_code: data.error_code as string | null,
            error_message: data.error_message as string | null,
          }
        : one,
    )
    list.set({ ...shown, messages })
  })
  const isFirst = !after && !search
  useLiveReload('message.', list.reload, {
    isAbout: ({ data }) => isFirst && !list.data?.messages.some(({ id }) => id === data.message_id),
  })
  const address = location.search
  return (
    <>
      <PageHead title={t('Messages')}>
        <ExportButton
          path="/messages/export"
          query={{ ...asked, after: undefined, ...datesOf(filter) }}
          name="messages"
          total={list.data?.total}
        />
        {may('send') && (
          <LinkButton kind="primary" icon="compose" to="/compose">
            {t('New message')}
          </LinkButton>
        )}
      </PageHead>
      <Filters {...filter} />
      <div class="filters">
        <SavedFilters filter={filter} />
      </div>
      <Loaded of={list}>
        {({ messages, total, next_after, searched_until }) => (
          <>
            {messages.length > 0 ? (
              <Table
                label={t('Messages')}
                columns={COLUMNS}
                rows={messages}
                keyOf={({ id }) => id}
                to={({ id }) => `/messages/${id}${address}`}
                current={params.id}
              />
            ) : (
              !searched_until && <NoMessages isFiltered={Object.values(filter).some(Boolean)} />
            )}
            {searched_until ? (
              <p class="pager" role="status">
                {t('Searched until {time}.', { time: exactTime(searched_until) })}
                <Button onClick={() => setQuery({ after: next_after ?? '' }, { replace: false })}>
                  {t('Continue the search')}
                </Button>
              </p>
            ) : (
              <Pager next={next_after} {...(total !== null && { total })} noun="message" />
            )}
          </>
        )}
      </Loaded>
      {params.id && (
        <MessageDrawer
          key={params.id}
          id={params.id}
          onChange={list.reload}
          onClose={() => go(`/messages${address}`)}
        />
      )}
    </>
  )
}

function Filters({
  search = '',
  channel = '',
  status = '',
  period = '',
  from = '',
  to = '',
  ...more
}: ReturnType<typeof useFilter>) {
  const [isOpen, setOpen] = useState(false)
  const set = (changes: Record<string, string>) => setQuery(changes, { to: '/messages' })
  return (
    <div class="filters">
      <Search
        placeholder={t('Name, recipient, id, metadata or text')}
        value={search}
        onInput={(one) => set({ search: one })}
        onPerson={({ id }) => set({ contact_id: id, search: '' })}
      />
      <Select
        bare
        label={t('Channel')}
        value={channel}
        options={[['', t('All channels')], ...CHANNELS]}
        onInput={(one) => set({ channel: one })}
      />
      <Select
        bare
        label={t('Status')}
        value={status}
        options={STATUSES}
        onInput={(one) => set({ status: one })}
      />
      <Select
        bare
        label={t('Period')}
        value={period}
        options={PERIODS}
        onInput={(one) => set({ period: one, from: '', to: '' })}
      />
      {period === 'dates' &&
        (
          [
            ['from', from],
            ['to', to],
          ] as const
        ).map(([name, value]) => (
          <DayInput
            key={name}
            label={name === 'from' ? t('From') : t('Until')}
            value={value}
            onInput={(day) => set({ [name]: day })}
          />
        ))}
      {MORE.map(([name, words]) => {
        const value = more[name]
        return (
          value && (
            <Button key={name} icon="close" onClick={() => set({ [name]: '' })}>
              {words(value)}
            </Button>
          )
        )
      })}
      {more.contact_id && (
        <OfContact id={more.contact_id} onRemove={() => set({ contact_id: '' })} />
      )}
      <Button onClick={() => setOpen(true)}>{t('More filters')}</Button>
      {isOpen && <MoreFilters of={more} onChange={set} onClose={() => setOpen(false)} />}
    </div>
  )
}

/** The contact whose messages are shown: its name leads to everything about it. */
function OfContact({ id, onRemove }: { id: string; onRemove(): void }) {
  const load = useLoad(
    (signal) => api.contacts.get(id, { signal }).then(({ contact }) => contact),
    [id],
  )
  const { name, phone, email } = load.data ?? {}
  return (
    <>
      <Button icon="close" onClick={onRemove}>
        {rich('To {bdi}', { bdi: <bdi>{name ?? phone ?? email ?? t('one contact')}</bdi> })}
      </Button>
      <a href={hrefOf(`/people/${id}`)}>{t('Everything about this contact')}</a>
    </>
  )
}

type More = Pick<
  ReturnType<typeof useFilter>,
  'bulk_id' | 'broadcast_id' | 'error_code' | 'api_key_id' | 'sender' | 'tag' | 'calling_code'
>

/** The filters that are buttons while they have a value, and the words of these buttons. */
const MORE: readonly (readonly [name: keyof More, words: (value: string) => ComponentChildren])[] =
  [
    [
      'bulk_id',
      (id) => (
        <OneOf
          words={t('One bulk only')}
          id={id}
          of={(signal) => api.bulks.get(id, { signal }).then(({ bulk }) => bulk)}
        />
      ),
    ],
    [
      'broadcast_id',
      (id) => (
        <OneOf
          words={t('One broadcast only')}
          id={id}
          of={(signal) => api.broadcasts.get(id, { signal }).then(({ broadcast }) => broadcast)}
        />
      ),
    ],
    ['error_code', (code) => t('Error: {code}', { code })],
    ['api_key_id', () => t('One API key only')],
    ['sender', (sender) => t('Sender: {sender}', { sender })],
    ['tag', (tag) => t('Tag: {tag}', { tag })],
    ['calling_code', (code) => t('To {bdi}', { bdi: `+${code}` })],
  ]

/** Words with the name of what they are about, if it has one. */
function OneOf({
  words,
  id,
  of,
}: {
  words: string
  id: string
  of(signal: AbortSignal): PromiseLike<{ name: string | null }>
}) {
  const { data } = useLoad(of, [id])
  return (
    <>
      {words}
      {data?.name && (
        <>
          : <bdi class="cut">{data.name}</bdi>
        </>
      )}
    </>
  )
}

/** The maximum of keys and bulks to choose from: more do not belong into a menu. */
const SHOWN = 100

type NamedBulk = Pick<Message, 'id' | 'created_at'> & { name: string | null }

/** The filters that are needed less often. */
function MoreFilters({
  of,
  onChange,
  onClose,
}: {
  of: More
  onChange(changes: Record<string, string>): void
  onClose(): void
}) {
  const [values, setValues] = useState(of)
  const keys = useLoad((signal) => api.apiKeys.list({ limit: SHOWN }, { signal }), [])
  const bulks = useLoad(
    (signal) => ownApi.get<{ bulks: NamedBulk[] }>('/bulks', { limit: `${SHOWN}` }, signal),
    [],
  )
  const errors = useLoad(
    (signal) => ownApi.get<Pick<Breakdown, 'reasons'>>('/breakdown', { unit: 'day' }, signal),
    [],
  )
  const field = (name: keyof More) => ({
    value: values[name] ?? '',
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  })
  return (
    <FormDialog
      title={t('More filters')}
      action={t('Show messages')}
      onClose={onClose}
      onSubmit={async () => {
        const { error_code = '', bulk_id = '', api_key_id = '', sender = '', tag = '' } = values
        onChange({ error_code, bulk_id, api_key_id, sender, tag })
        onClose()
      }}
    >
      {() => (
        <>
          <TextInput
            label={t('Error')}
            hint={t('The code, such as invalid_recipient.')}
            autofocus
            list="errors"
            {...field('error_code')}
          />
          <datalist id="errors">
            {errors.data?.reasons.map(({ error_code: code }) => (
              <option key={code} value={code ?? ''}>
                {code && wordOf(code)}
              </option>
            ))}
          </datalist>
          <Select
            label={t('Bulk')}
            options={[
              ['', t('All bulks')],
              ...(of.bulk_id ? [[of.bulk_id, t('One bulk only')] as const] : []),
              ...(bulks.data?.bulks ?? [])
                .filter(({ id }) => id !== of.bulk_id)
                .map(({ id, name, created_at }) => [id, name ?? exactTime(created_at)] as const),
            ]}
            {...field('bulk_id')}
          />
          <Select
            label={t('API key')}
            options={[
              ['', t('All keys')],
              ...(keys.data?.api_keys ?? []).map(({ id, name }) => [id, name] as const),
            ]}
            {...field('api_key_id')}
          />
          <TextInput
            label={t('Sender')}
            hint={t('As the request named it. Messages without one have that of the service.')}
            {...field('sender')}
          />
          <TextInput
            label={t('Tag of an e-mail')}
            hint={t('Its name or its value.')}
            {...field('tag')}
          />
        </>
      )}
    </FormDialog>
  )
}

function NoMessages({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty icon="messages" title={t('No message matches')}>
        <LinkButton to="/messages">{t('Show all messages')}</LinkButton>
      </Empty>
    )
  }
  return (
    <Empty icon="messages" title={t('No messages yet')}>
      <p>{t('Messages that you send appear here, each with its way to the recipient.')}</p>
      {may('send') && (
        <LinkButton icon="compose" to="/compose">
          {t('Send a message')}
        </LinkButton>
      )}
    </Empty>
  )
}

export default { title: t('Messages'), Page: Messages }
