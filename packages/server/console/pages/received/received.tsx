import type { Channel, ReceivedMessage } from '@svc/client'
import { Empty, Icon, LinkButton, Loaded, PageHead, Pager, Time } from '../../parts/index.ts'
import { facts } from '../../shell/facts.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { hrefOf, query } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'
import { Thread } from './thread.tsx'

interface Conversation extends ReceivedMessage {
  contact: { id: string; name: string | null } | null
}

/** The text of a received message in one line. */
function lineOf({ content: { text, media } }: ReceivedMessage): string {
  return text || (media.length > 0 ? t('Media') : t('No text'))
}

function Received({ params: { channel, address } }: PageProps) {
  const after = query.value.get('after') ?? undefined
  const list = useLoad(
    (signal) =>
      ownApi.get<{ conversations: Conversation[]; next_after: string | null }>(
        '/conversations',
        { limit: '30', after },
        signal,
      ),
    [after],
  )
  useLiveReload('message.received', list.reload)
  return (
    <>
      <PageHead title={t('Received')} />
      <Loaded of={list}>
        {({ conversations, next_after }) =>
          conversations.length === 0 && !after && !address ? (
            <Empty icon="received" title={t('No messages received yet')}>
              <p>{t('Replies of recipients appear here as conversations.')}</p>
              {facts.dev && (
                <>
                  <p>{t('The phone of svc dev shows sent messages, and writes replies.')}</p>
                  <LinkButton icon="phone" to="/tools/phone">
                    {t('Open the phone')}
                  </LinkButton>
                </>
              )}
            </Empty>
          ) : (
            <div class={address ? 'conversations open' : 'conversations'}>
              <nav aria-label={t('Conversations')}>
                <ul>
                  {conversations.map((one) => (
                    <li key={one.channel + one.sender}>
                      <a
                        href={hrefOf(
                          `/received/${one.channel}/${encodeURIComponent(one.sender)}${location.search}`,
                        )}
                        aria-current={
                          one.channel === channel && one.sender === address ? 'true' : undefined
                        }
                      >
                        <strong dir="auto">{one.contact?.name ?? one.sender}</strong>
                        <Time at={one.created_at} />
                        <span class="last" dir="auto">
                          {lineOf(one)}
                        </span>
                        <small>{channelName(one.channel)}</small>
                      </a>
                    </li>
                  ))}
                </ul>
                <Pager next={next_after} noun="conversation" />
              </nav>
              {channel && address ? (
                <Thread
                  key={channel + address}
                  channel={channel as Channel}
                  address={address}
                  name={conversations.find((one) => one.sender === address)?.contact?.name ?? null}
                />
              ) : (
                <p class="hint muted">
                  <Icon name="received" /> {t('Choose a conversation')}
                </p>
              )}
            </div>
          )
        }
      </Loaded>
    </>
  )
}

export default { title: t('Received'), Page: Received }
