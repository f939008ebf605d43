import { useEffect, useRef, useState } from 'preact/hooks'
import type { PhoneItem } from '../../../src/dev/dev-answers.ts'
import { Button, ErrorBox, Loaded, PageHead, Select, TextInput, Time } from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { count } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { RECIPIENTS } from './recipients.ts'

const SANDBOX = RECIPIENTS.filter(([address]) => !address.includes('@'))
const FIRST = '+15005550008'
/** The number of messages whose recipients are listed. */
const RECENT = 100

const isForPhone = ({ channel }: { channel: string }) => channel !== 'email'

function Phone({ params: { number } }: PageProps) {
  return number ? <OnePhone number={number} /> : <LastPhone />
}

/** The phone that got the last message; it stays when another one gets a message. */
function LastPhone() {
  const load = useLoad((signal) => api.messages.list({ limit: RECENT }, { signal }), [])
  return (
    <Loaded of={load}>
      {({ messages }) => <OnePhone number={messages.find(isForPhone)?.recipient ?? FIRST} />}
    </Loaded>
  )
}

function OnePhone({ number }: { number: string }) {
  const load = useLoad(
    (signal) =>
      ownApi.get<{ items: PhoneItem[] }>(`/dev/phones/${encodeURIComponent(number)}`, {}, signal),
    [number],
  )
  const recent = useLoad((signal) => api.messages.list({ limit: RECENT }, { signal }), [])
  useLiveReload('message.', load.reload, {
    isAbout: ({ data }) => data.recipient === number || data.sender === number,
    every_ms: 1_000,
  })
  useLiveReload('message.', recent.reload)
  const phones = recent.data?.messages.filter(isForPhone)
  const numbers = [...new Set(phones?.map((one) => one.recipient))]
  return (
    <>
      <PageHead
        title={t('Phone')}
        text={t(
          'Messages as their recipient sees them. A message that you write here arrives at the service as a reply.',
        )}
      />
      <div class="split phones">
        <div class="split-list">
          <NumberForm />
          <Numbers
            name={t('Recent numbers')}
            numbers={numbers.map((one) => [one])}
            current={number}
          />
          <Numbers name={t('Sandbox numbers')} numbers={SANDBOX} current={number} />
        </div>
        <section class="handset" aria-label={t('Phone {number}', { number })}>
          <header>{number}</header>
          <Loaded of={load}>
            {({ items }) => (
              <>
                <Talk items={items} />
                {may('send') && <Writer number={number} items={items} onSent={load.reload} />}
              </>
            )}
          </Loaded>
        </section>
      </div>
    </>
  )
}

function NumberForm() {
  const [typed, setTyped] = useState('')
  return (
    <form
      class="writer"
      onSubmit={(event) => {
        event.preventDefault()
        go(`/tools/phone/${typed.trim()}`)
      }}
    >
      <TextInput
        label={t('Phone number')}
        type="tel"
        placeholder="+14155550100"
        value={typed}
        onInput={setTyped}
      />
      <Button type="submit" disabled={typed.trim() === ''}>
        {t('Show')}
      </Button>
    </form>
  )
}

function Numbers({
  name,
  numbers,
  current,
}: {
  name: string
  numbers: readonly (readonly [number: string, outcome?: string])[]
  current: string
}) {
  if (numbers.length === 0) return null
  return (
    <section>
      <h2>{name}</h2>
      <ul class="split-rows">
        {numbers.map(([number, outcome]) => (
          <li key={number}>
            <a
              href={hrefOf(`/tools/phone/${number}`)}
              aria-current={number === current ? 'true' : undefined}
            >
              {number}
              {outcome && <small>{outcome}</small>}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Talk({ items }: { items: readonly PhoneItem[] }) {
  const talk = useRef<HTMLDivElement>(null)
  useEffect(() => {
    talk.current?.scrollTo(0, talk.current.scrollHeight)
  }, [items])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard could not scroll.
    <div class="talk" ref={talk} tabIndex={0} role="log" aria-label={t('Conversation')}>
      {items.length === 0 && <p class="muted">{t('No messages yet.')}</p>}
      {items.map((item) => (
        <Bubble key={item.id} item={item} />
      ))}
    </div>
  )
}

const CHANNELS = { sms: 'SMS', whatsapp: t('WhatsApp'), voice: t('Call'), email: t('E-mail') }

/** The states that are no fault; others are codes of errors. */
const STATUSES = /^(?:queued|sent|delivered|read|canceled)$/

function Bubble({ item }: { item: PhoneItem }) {
  const { id, from, at, channel, state, title, parts, encoding, non_gsm_characters: others } = item
  const facts = [
    CHANNELS[channel],
    parts.length > 1 && count(parts.length, 'segment'),
    encoding === 'UCS-2' && encoding,
  ]
  const text = facts.filter(Boolean).join(' · ')
  return (
    <div class={`bubble ${channel} ${from}`}>
      {title && <em dir="auto">{title}</em>}
      <p dir="auto">
        {parts.map((part, i) => (
          <span key={i}>
            {part}
            {parts.length > 1 && <sup>{`${i + 1}/${parts.length}`}</sup>}
          </span>
        ))}
      </p>
      <small>
        {from === 'service' ? <a href={hrefOf(`/messages/${id}`)}>{text}</a> : text}
        {state && (
          <>
            {' · '}
            <span class={STATUSES.test(state) ? '' : 'bad'}>{wordOf(state)}</span>
          </>
        )}{' '}
        <Time at={at} />
      </small>
      {others.length > 0 && (
        <small>{rich('Not in GSM-7: {bdi}', { bdi: <bdi>{others.join(' ')}</bdi> })}</small>
      )}
    </div>
  )
}

function Writer({
  number,
  items,
  onSent,
}: {
  number: string
  items: readonly PhoneItem[]
  onSent(): void
}) {
  const [chosen, setChannel] = useState<string>()
  const channel = chosen ?? (items.at(-1)?.channel === 'whatsapp' ? 'whatsapp' : 'sms')
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  async function send(event: Event) {
    event.preventDefault()
    if (isBusy || text.trim() === '') return
    setBusy(true)
    try {
      const recipient = items.filter((one) => one.channel === channel).at(-1)?.ours ?? 'sandbox'
      await ownApi.send('POST', '/dev/replies', { channel, sender: number, recipient, text })
      setText('')
      setError(undefined)
      onSent()
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return (
    <form class="writer" onSubmit={send}>
      {error !== undefined && <ErrorBox error={error} />}
      <Select
        bare
        label={t('Channel')}
        value={channel}
        options={[
          ['sms', 'SMS'],
          ['whatsapp', t('WhatsApp')],
        ]}
        onInput={setChannel}
      />
      <input
        aria-label={t('Message from this phone')}
        placeholder={t('Write to the service')}
        dir="auto"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <Button kind="primary" type="submit" busy={isBusy}>
        {t('Send')}
      </Button>
    </form>
  )
}

export default { title: t('Phone'), Page: Phone }
