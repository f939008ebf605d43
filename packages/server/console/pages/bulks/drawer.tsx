import type { Bulk } from '@svc/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { csvText } from '../../parts/csv.ts'
import { download } from '../../parts/download.ts'
import {
  Button,
  Copy,
  confirm,
  Drawer,
  Facts,
  LinkButton,
  Loaded,
  Money,
  StatusBadge,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { count, credits, exactTime, number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import { go, hrefOf } from '../../shell/router.ts'
import { may } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { inWords, wordOf } from '../../shell/words.ts'
import { channelName } from '../messages/channels.ts'
import { Content } from '../messages/content.tsx'
import { statusOf } from '../messages/schedule.ts'
import { Stopped } from '../messages/stopped.tsx'
import { Progress } from './progress.tsx'
import { isLater, stateOf } from './state.ts'

const STATUSES = {
  queued: t('Queued'),
  sent: t('Sent'),
  delivered: t('Delivered'),
  read: t('Read'),
  failed: t('Failed'),
  canceled: t('Canceled'),
}

/** One bulk, its progress, and what can be done with it. */
export function BulkDrawer({
  id,
  onChange,
  onClose,
}: {
  id: string
  onChange(): void
  onClose(): void
}) {
  const load = useLoad(
    async (signal) => {
      const [{ bulk }, { bulks }] = await Promise.all([
        api.bulks.get(id, { signal }),
        ownApi.get<{ bulks: Scheduled[] }>('/bulks', { id, limit: '1' }, signal),
      ])
      return { bulk, scheduled_at: bulks[0]?.scheduled_at ?? null }
    },
    [id],
  )
  useLiveReload('message.', load.reload, { isAbout: ({ data }) => data.bulk_id === id })
  const bulk = load.data?.bulk
  const changed = () => {
    load.reload()
    onChange()
  }
  return (
    <Drawer
      title={bulk?.name ?? t('Bulk')}
      actions={bulk && may('send') && <Actions bulk={bulk} onChange={changed} />}
      onClose={onClose}
    >
      <Loaded of={load}>
        {({ bulk, scheduled_at: at }) => (
          <div class="stack">
            <Progress of={bulk.accepted} left={bulk.counts.queued + bulk.counts.failed} />
            {bulk.counts.queued > 0 && <Stopped channel={bulk.channel} isQueued />}
            <Facts
              of={{
                [t('Status')]: (
                  <StatusBadge
                    status={stateOf(bulk, { ...bulk.counts, canceled: bulk.canceled }, at)}
                  />
                ),
                [t('To be sent')]: at && isLater(at) && !isPaused(bulk) && <Time at={at} exact />,
                [t('Paused')]: isPaused(bulk) && (
                  <>
                    <Time at={bulk.paused_at as string} exact />
                    <small class="line">
                      {t('Its queued messages wait until it is resumed. They stay paid.')}
                    </small>
                  </>
                ),
                [t('Id')]: <Copy value={bulk.id} />,
                [t('Broadcast')]: bulk.broadcast_id && (
                  <a href={hrefOf(`/broadcasts/${bulk.broadcast_id}`)}>{t('Open the broadcast')}</a>
                ),
                [t('Channel')]: channelName(bulk.channel),
                [t('Sender')]: bulk.sender,
                [t('Created')]: <Time at={bulk.created_at} exact />,
                [t('Recipients')]: number(bulk.total),
                [t('Duplicates')]: bulk.duplicates > 0 ? number(bulk.duplicates) : null,
                [t('Rejected')]: bulk.rejected > 0 && (
                  <>
                    {number(bulk.rejected)}
                    <Rejected bulkId={id} count={bulk.rejected} />
                  </>
                ),
                [t('Price')]: (
                  <>
                    <Money credits={bulk.credits_used} />
                    {bulk.accepted > 1 && (
                      <small class="line">
                        {rich('{credits} a message', {
                          credits: credits(
                            Math.round((bulk.credits_used / bulk.accepted) * 100) / 100,
                          ),
                        })}
                      </small>
                    )}
                  </>
                ),
                [t('Refunded')]: bulk.credits_refunded > 0 && (
                  <Money credits={bulk.credits_refunded} />
                ),
                ...Object.fromEntries(
                  Object.entries(STATUSES).map(([status, name]) => {
                    const n = countsOf(bulk)[status as keyof typeof STATUSES]
                    const link = (
                      <a
                        href={hrefOf(
                          `/messages?bulk_id=${id}&status=${status === 'failed' ? 'failed_only' : status}`,
                        )}
                      >
                        {count(n, 'message')}
                      </a>
                    )
                    return [name, n > 0 && link]
                  }),
                ),
              }}
            />
            {bulk.failures.length > 0 && (
              <section>
                <h3>{t('Why messages failed')}</h3>
                <ul class="bars">
                  {bulk.failures.map(({ error_code, count: n }) => (
                    <li key={error_code}>
                      {error_code ? (
                        <a
                          href={hrefOf(
                            `/messages?bulk_id=${id}&error_code=${encodeURIComponent(error_code)}`,
                          )}
                        >
                          {wordOf(error_code)}
                        </a>
                      ) : (
                        t('Without a reason')
                      )}
                      <span>{count(n, 'message')}</span>
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <section>
              <h3>{t('Content')}</h3>
              {bulk.content ? (
                <Content channel={bulk.channel} content={bulk.content} />
              ) : (
                <p class="muted">
                  {t(
                    'Not stored with this bulk: its e-mails differ, it is older, or its retention time is over. Its messages have what was sent.',
                  )}
                </p>
              )}
            </section>
            <OneRecipient bulkId={id} counts={bulk.counts} />
            <div class="actions">
              <LinkButton icon="messages" to={`/messages?bulk_id=${id}`}>
                {t('Messages of this bulk')}
              </LinkButton>
            </div>
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

interface Scheduled {
  scheduled_at: string | null
}

function isPaused({ counts, paused_at }: Bulk): boolean {
  return paused_at !== null && counts.queued > 0
}

function countsOf({ counts, canceled }: Bulk) {
  return { ...counts, failed: counts.failed - canceled, canceled }
}

function Actions({ bulk, onChange }: { bulk: Bulk; onChange(): void }) {
  const { id } = bulk
  const counts = countsOf(bulk)
  async function cancel() {
    const question = {
      title: t('Cancel the queued messages?'),
      text: t(
        'They are not sent, and their credits are returned. Messages that are being sent now still go out.',
      ),
      action: t('Cancel messages'),
      danger: true,
      cancel: t('Keep them'),
    }
    if (!(await confirm(question))) return
    const { canceled } = await api.bulks.cancel(id)
    toast(t('{canceled} canceled.', { canceled: count(canceled, 'message') }))
    onChange()
  }
  const mayResume = isPaused(bulk)
  async function pause() {
    await (mayResume ? api.bulks.resume(id) : api.bulks.pause(id))
    toast(mayResume ? t('Resumed.') : t('Paused. Messages that are being sent now still go out.'))
    onChange()
  }
  async function retry() {
    // The price of a message that was sent, as long as the prices did not change.
    const price = (bulk.credits_used / bulk.accepted) * bulk.retryable
    const question = {
      title: t('Send the failed messages again?'),
      text: t(
        'Only messages that failed before a provider accepted them are sent, as a new bulk. They are charged again, at most about {credits}. Canceled messages are not sent. A bulk can be sent again once.',
        { credits: credits(Math.ceil(price * 10) / 10) },
      ),
      action: t('Send again'),
    }
    if (!(await confirm(question))) return
    const sent = await api.bulks.retry(id)
    toast(t('{accepted} sent again.', { accepted: count(sent.accepted, 'message') }))
    onChange()
    go(`/bulks/${sent.bulk_id}`)
  }
  return (
    <>
      {counts.queued > 0 && bulk.broadcast_id === null && (
        <Button kind={mayResume ? 'primary' : 'plain'} onClick={pause}>
          {mayResume ? t('Resume') : t('Pause')}
        </Button>
      )}
      {counts.queued > 0 && (
        <Button kind="danger" onClick={cancel}>
          {t('Cancel queued messages')}
        </Button>
      )}
      {bulk.retryable > 0 && (
        <Button icon="refresh" onClick={retry}>
          {t('Send failed ones again')}
        </Button>
      )}
      {bulk.content && (
        <LinkButton icon="copy" to={`/bulks/new?from=${id}`}>
          {t('Use as a new bulk')}
        </LinkButton>
      )}
    </>
  )
}

/** What one recipient got: a message of the bulk with its filled-in text. It is read again when the counts of the bulk change. */
function OneRecipient({ bulkId, counts }: { bulkId: string; counts: Bulk['counts'] }) {
  const [search, setSearch] = useState('')
  const load = useLoad(
    (signal) =>
      ownApi.get<{ messages: Sent[]; searched_until: string | null }>(
        '/messages',
        { bulk_id: bulkId, search: search.trim() || undefined, limit: '1' },
        signal,
      ),
    [bulkId, search],
  )
  const state = JSON.stringify(counts)
  const shown = useRef(state)
  useEffect(() => {
    if (shown.current === state) return
    shown.current = state
    load.reload()
  }, [state])
  return (
    <section>
      <h3>{t('What a recipient got')}</h3>
      <TextInput
        label={t('Find a recipient')}
        hint={t('A part of the address or of the text.')}
        value={search}
        onInput={setSearch}
      />
      <Loaded of={load}>
        {({ messages: [message], searched_until }) =>
          message ? (
            <>
              <p>
                <a href={hrefOf(`/messages/${message.id}?bulk_id=${bulkId}`)}>
                  <bdi>{message.contact?.name ?? message.recipient}</bdi>
                </a>{' '}
                <StatusBadge status={statusOf(message)} />
              </p>
              {message.content ? (
                <Content id={message.id} channel={message.channel} content={message.content} />
              ) : (
                <p class="muted">{t('Its content is too long for a list: open the message.')}</p>
              )}
            </>
          ) : (
            <p class="muted">
              {searched_until
                ? t('Searched until {time}.', { time: exactTime(searched_until) })
                : t('No recipient matches.')}
            </p>
          )
        }
      </Loaded>
    </section>
  )
}

interface Sent {
  id: string
  channel: string
  recipient: string
  status: string
  error_code: string | null
  scheduled_at: string | null
  deferred_until?: string
  content: object | null
  contact: { name: string | null } | null
}

const SHOWN = 5

/** The first rejected recipients of a bulk, and all of them as a file. `count`: their number. */
function Rejected({ bulkId, count }: { bulkId: string; count: number }) {
  const load = useLoad(
    (signal) => api.bulks.rejected(bulkId, { limit: SHOWN }, { signal }),
    [bulkId],
  )
  return (
    <Loaded of={load}>
      {({ rejected, is_stored }) =>
        is_stored ? (
          <>
            {rejected.map(({ index, to, message }) => (
              <div key={index}>
                {t('Recipient {number}: {to}', { number: index + 1, to })}{' '}
                <small>{inWords(message)}</small>
              </div>
            ))}
            {count > SHOWN && <p>{rich('and {number} more', { number: number(count - SHOWN) })}</p>}
            <Button icon="download" onClick={() => save(bulkId)}>
              {t('Download as CSV')}
            </Button>
          </>
        ) : (
          <small>
            {t(
              'Only their number is stored: an earlier version accepted this bulk, or they were erased after the retention time.',
            )}
          </small>
        )
      }
    </Loaded>
  )
}

async function save(bulkId: string): Promise<void> {
  const rows: (string | number | null)[][] = [['number', 'to', 'error', 'message']]
  for await (const { index, to, error, message } of api.bulks.rejected(bulkId, { limit: 100 })) {
    rows.push([index + 1, to, error, message])
  }
  download(`rejected-${bulkId}.csv`, csvText(rows))
}
