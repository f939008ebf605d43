import {
  Badge,
  type Column,
  Empty,
  LinkButton,
  ListPage,
  Money,
  PageHead,
  Select,
  StatusBadge,
  Time,
} from '../../parts/index.ts'
import { number } from '../../shell/format.ts'
import { useLiveReload } from '../../shell/live.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, query, setQuery } from '../../shell/router.ts'
import { may, mode } from '../../shell/session.ts'
import { rich, t } from '../../shell/text.ts'
import { CHANNELS, channelName } from '../messages/channels.ts'
import { summaryOf } from '../messages/content.tsx'
import { BulkDrawer } from './drawer.tsx'
import { Progress } from './progress.tsx'
import { isLater, stateOf } from './state.ts'

interface ListedBulk {
  id: string
  name: string | null
  content: object | null
  channel: string
  status: string
  total: number
  accepted: number
  rejected: number
  duplicates: number
  queued: number
  /** Canceled messages included. */
  failed: number
  canceled: number
  credits_used: number
  livemode: boolean
  created_at: string
  paused_at: string | null
  scheduled_at: string | null
}

const COLUMNS: readonly Column<ListedBulk>[] = [
  {
    name: t('Bulk'),
    kind: 'main',
    value: ({ name, content, created_at, livemode }) => (
      <>
        {(name ?? (content && summaryOf(content))) && (
          <span class="cut">{name ?? (content && summaryOf(content))}</span>
        )}
        <Time at={created_at} />{' '}
        {!livemode && mode.value === 'live' && <Badge tone="warn">{t('test')}</Badge>}
      </>
    ),
  },
  { name: t('Channel'), value: ({ channel }) => channelName(channel) },
  {
    name: t('Status'),
    value: (bulk) => {
      const { scheduled_at: at } = bulk
      return (
        <>
          <StatusBadge status={stateOf(bulk, bulk, at)} />
          {at && isLater(at) && bulk.paused_at === null && (
            <small> {rich('to be sent {time}', { time: <Time at={at} /> })}</small>
          )}
        </>
      )
    },
  },
  {
    name: t('Progress'),
    value: ({ accepted, queued, failed }) => <Progress of={accepted} left={queued + failed} />,
  },
  { name: t('Messages'), kind: 'number', value: ({ accepted }) => number(accepted) },
  {
    name: t('Failed'),
    kind: 'number',
    value: ({ failed, canceled }) => number(failed - canceled),
  },
  { name: t('Canceled'), kind: 'number', value: ({ canceled }) => number(canceled) },
  { name: t('Rejected'), kind: 'number', value: ({ rejected }) => number(rejected) },
  {
    name: t('Price'),
    kind: 'number',
    value: ({ credits_used }) => <Money credits={credits_used} />,
  },
]

function Bulks({ params }: PageProps) {
  const channel = query.value.get('channel') || undefined
  const after = query.value.get('after') || undefined
  const list = useLoad(
    (signal) =>
      ownApi.get<{ bulks: ListedBulk[]; next_after: string | null }>(
        '/bulks',
        { channel, after, limit: '20' },
        signal,
      ),
    [channel, after],
  )
  useLiveReload('message.', list.reload, {
    isAbout: ({ data }) => typeof data.bulk_id === 'string',
  })
  const address = location.search
  return (
    <>
      <PageHead title={t('Bulks')} text={t('One request for many messages, paid by one debit.')}>
        {may('send') && (
          <LinkButton kind="primary" icon="plus" to="/bulks/new">
            {t('New bulk')}
          </LinkButton>
        )}
      </PageHead>
      <div class="filters">
        <Select
          bare
          label={t('Channel')}
          value={channel ?? ''}
          options={[['', t('All channels')], ...CHANNELS.filter(([one]) => one !== 'voice')]}
          onInput={(one) => setQuery({ channel: one }, { to: '/bulks' })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.bulks}
        label={t('Bulks')}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        to={({ id }) => `/bulks/${id}${address}`}
        current={params.id}
        noun="bulk"
        empty={
          <Empty icon="bulks" title={channel ? t('No bulk on this channel') : t('No bulks yet')}>
            <p>{t('Send one text to many recipients, with their names filled in.')}</p>
            {may('send') && <LinkButton to="/bulks/new">{t('New bulk')}</LinkButton>}
          </Empty>
        }
      />
      {params.id && (
        <BulkDrawer
          key={params.id}
          id={params.id}
          onChange={list.reload}
          onClose={() => go(`/bulks${address}`)}
        />
      )}
    </>
  )
}

export default { title: t('Bulks'), Page: Bulks }
