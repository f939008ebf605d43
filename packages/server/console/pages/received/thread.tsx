import type { Channel, Message, MessagesSendBody, ReceivedMessage } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import {
  Button,
  ErrorBox,
  LinkButton,
  Loaded,
  StatusBadge,
  TextArea,
  Time,
} from '../../parts/index.ts'
import { api, errorText } from '../../shell/api.ts'
import { count, credits } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { askLater, useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
import { isPlanned, statusOf } from '../messages/schedule.ts'
import { Stopped } from '../messages/stopped.tsx'

const SHOWN = 100
const TYPING_MS = 400
const RELOAD_EVERY_MS = 1_000
/** WhatsApp takes free texts for a day after the recipient's last message. */
const WINDOW_MS = 24 * 60 * 60_000

/** A long content is not in a list. */
type SentMessage = Omit<Message, 'content'> & { content: Message['content'] | null }

type Line = { at: string; received: ReceivedMessage } | { at: string; sent: SentMessage }

/** All messages from and to an address, oldest first. */
export function Thread({
  channel,
  address,
  name,
}: {
  channel: Channel
  address: string
  name: string | null
}) {
  const load = useLoad(
    async (signal) => {
      const [{ received, ...from }, { messages, ...to }] = await Promise.all([
        api.received.list({ channel, sender: address, limit: SHOWN }, { signal }),
        // The search reads at most 50,000 messages: no index finds the messages to an address.
        ownApi.get<{ messages: SentMessage[]; next_after: string | null }>(
          '/messages',
          { channel, search: address, limit: String(SHOWN) },
          signal,
        ),
      ])
      const own = messages.filter(({ recipient }) => recipient === address)
      const lines: Line[] = [
        ...received.map((one) => ({ at: one.created_at, received: one })),
        ...own.map((one) => ({ at: one.created_at, sent: one })),
      ]
      lines.sort((a, b) => (a.at < b.at ? -1 : 1))
      return {
        lines: lines.slice(-SHOWN),
        newest: received[0],
        hasMore: !!(from.next_after || to.next_after),
      }
    },
    [channel, address],
  )
  useLiveReload('message.', load.reload, {
    isAbout: ({ data }) => data.sender === address || data.recipient === address,
    every_ms: RELOAD_EVERY_MS,
  })
  const end = useRef<HTMLDivElement>(null)
  const last = load.data?.lines.at(-1)?.at
  useEffect(() => {
    const list = end.current
    if (list) list.scrollTop = list.scrollHeight
  }, [last])
  return (
    <section class="thread" aria-label={t('Conversation with {name}', { name: name ?? address })}>
      <header>
        <LinkButton kind="quiet" icon="left" to={`/received${location.search}`}>
          <span class="unseen">{t('All conversations')}</span>
        </LinkButton>
        <h2>
          <bdi>{name ?? address}</bdi>
          {name && <small class="line">{address}</small>}
        </h2>
      </header>
      <Loaded of={load}>
        {({ lines, newest, hasMore }) => (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also with the keyboard. */}
            <div class="lines" ref={end} role="log" tabIndex={0} aria-label={t('Messages')}>
              {hasMore && (
                <a href={hrefOf(`/messages?search=${encodeURIComponent(address)}`)}>
                  {t('Older messages')}
                </a>
              )}
              {lines.map((line) =>
                'sent' in line ? (
                  <Sent key={line.sent.id} {...line.sent} />
                ) : (
                  <Got key={line.received.id} {...line.received} />
                ),
              )}
            </div>
            {may('send') && (channel === 'sms' || channel === 'whatsapp') && (
              <Reply
                channel={channel}
                to={address}
                // The sandbox and some carriers name no number.
                {...(newest && /^\+?\d+$/.test(newest.recipient) && { from: newest.recipient })}
                isLate={
                  channel === 'whatsapp' &&
                  Date.now() - Date.parse(newest?.created_at ?? '1970') > WINDOW_MS
                }
                onSent={load.reload}
              />
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

function Got({ content: { text, media }, created_at, keyword }: ReceivedMessage) {
  return (
    <div class="line-in">
      <p dir="auto">{text}</p>
      {media.map(({ url, content_type }) =>
        // The carrier's address is opened only by a click; other schemes could run a script.
        /^https?:/.test(url) ? (
          <a key={url} href={url} target="_blank" rel="noreferrer">
            {content_type ?? t('Media')}
          </a>
        ) : (
          <span key={url}>{content_type ?? t('Media')}</span>
        ),
      )}
      <small>
        <Time at={created_at} /> {keyword && `· ${t('acted on as {keyword}', { keyword })}`}
      </small>
    </div>
  )
}

function Sent(message: SentMessage) {
  const { id, content, created_at, error_message } = message
  const status = statusOf(message)
  return (
    <div class="line-out">
      <p dir="auto">{content?.text ?? content?.subject ?? t('No text')}</p>
      <small>
        <a href={hrefOf(`/messages/${id}`)}>
          <Time at={created_at} />
        </a>{' '}
        <StatusBadge status={status} /> {status !== 'canceled' && error_message}
        {isPlanned(status) &&
          rich('to be sent {time}', { time: <Time at={message.scheduled_at ?? created_at} /> })}
      </small>
    </div>
  )
}

function Reply({
  channel,
  to,
  from,
  isLate,
  onSent,
}: {
  channel: 'sms' | 'whatsapp'
  to: string
  from?: string
  isLate: boolean
  onSent(): void
}) {
  const [text, setText] = useState('')
  const [cost, setCost] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const body = { channel, to, content: { text }, ...(from && { from }) } as MessagesSendBody
  useEffect(() => {
    setCost('')
    if (!text.trim()) return
    return askLater(
      TYPING_MS,
      (signal) => api.messages.estimate(body, { signal }),
      ({ credits_needed, messages: [one], block_reason }) => {
        const why = block_reason ?? one?.block_reason
        const parts = one?.segments ? `${count(one.segments, 'segment')}, ` : ''
        setCost(
          why
            ? t('Would be refused: {reason}', { reason: wordOf(why) })
            : parts + credits(credits_needed),
        )
      },
      (failure) => setCost(errorText(failure)),
    )
  }, [text])
  async function send(event: Event) {
    event.preventDefault()
    if (isBusy || !text.trim()) return
    setBusy(true)
    setError(undefined)
    try {
      await api.messages.send(body)
      setText('')
      onSent()
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return (
    <form
      class="reply"
      onSubmit={send}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send(event)
      }}
    >
      {error !== undefined && <ErrorBox error={error} />}
      <Stopped channel={channel} />
      {isLate && (
        <p class="mode-note">
          {t(
            'WhatsApp takes free texts only within 24 hours of the recipient’s last message. Later it takes templates.',
          )}
        </p>
      )}
      <TextArea
        label={t('Reply')}
        rows={2}
        value={text}
        hint={
          cost || (from ? t('From {from}. Ctrl+Enter sends.', { from }) : t('Ctrl+Enter sends.'))
        }
        onInput={setText}
      />
      <Button kind="primary" type="submit" busy={isBusy} disabled={!text.trim()}>
        {t('Send')}
      </Button>
    </form>
  )
}
