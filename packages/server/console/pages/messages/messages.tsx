import type { Message } from '@svc/client'
import {
  type Column,
  Copy,
  Drawer,
  Empty,
  Facts,
  Loaded,
  Money,
  PageHead,
  Pager,
  Select,
  StatusBadge,
  Table,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLive } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, query, setQuery } from '../../shell/router.ts'

const COLUMNS: readonly Column<Message>[] = [
  { name: 'Recipient', kind: 'main', value: ({ recipient }) => recipient },
  { name: 'Channel', value: ({ channel }) => channel },
  { name: 'Status', value: ({ status }) => <StatusBadge status={status} /> },
  { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
]

const CHANNELS = [
  ['', 'All channels'],
  ['sms', 'SMS'],
  ['whatsapp', 'WhatsApp'],
  ['email', 'E-mail'],
  ['voice', 'Voice'],
] as const

function Messages({ params }: PageProps) {
  const channel = query.value.get('channel') ?? ''
  const after = query.value.get('after') ?? undefined
  const list = useLoad(
    (signal) => {
      const filter = { ...(channel && { channel: channel as 'sms' }), ...(after && { after }) }
      return api.messages.list({ ...filter, limit: 25 }, { signal })
    },
    [channel, after],
  )
  useLive('message.', list.reload, list.reload)
  const search = location.search
  return (
    <>
      <PageHead title="Messages" />
      <div class="filters">
        <Select
          bare
          label="Channel"
          value={channel}
          options={CHANNELS}
          onInput={(one) => setQuery({ channel: one }, { to: '/messages' })}
        />
      </div>
      <Loaded of={list}>
        {({ messages, pagination, next_after }) =>
          messages.length === 0 ? (
            <Empty icon="messages" title="No messages yet">
              <p>Messages that you send appear here.</p>
            </Empty>
          ) : (
            <>
              <Table
                label="Messages"
                columns={COLUMNS}
                rows={messages}
                keyOf={({ id }) => id}
                to={({ id }) => `/messages/${id}${search}`}
                current={params.id}
              />
              <Pager next={next_after} total={pagination.total} noun="message" />
            </>
          )
        }
      </Loaded>
      {params.id && <Details id={params.id} onClose={() => go(`/messages${search}`)} />}
    </>
  )
}

function Details({ id, onClose }: { id: string; onClose(): void }) {
  const load = useLoad((signal) => api.messages.get(id, { signal }), [id])
  useLive('message.', ({ data }) => {
    if (data.message_id === id) load.reload()
  })
  return (
    <Drawer title="Message" onClose={onClose}>
      <Loaded of={load}>
        {({ message }) => (
          <Facts
            of={{
              Id: <Copy value={message.id} />,
              Recipient: message.recipient,
              Status: <StatusBadge status={message.status} />,
              Price: <Money credits={message.credits_used} />,
              Created: <Time at={message.created_at} exact />,
            }}
          />
        )}
      </Loaded>
    </Drawer>
  )
}

export default { title: 'Messages', Page: Messages }
