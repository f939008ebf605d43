import type { Broadcast } from '@svc/client'
import {
  type Column,
  Empty,
  LinkButton,
  ListPage,
  Money,
  PageHead,
  Select,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { number } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { filtersOf, query, setQuery } from '../../shell/router.ts'
import { may, mode } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'
import { OneBroadcast } from './one-broadcast.tsx'
import { BroadcastState, isOpen, Turns, titleOf, useProgress } from './state.tsx'

type Status = Broadcast['status']

const COLUMNS: readonly Column<Broadcast>[] = [
  { name: t('Name'), kind: 'main', value: (one) => <bdi>{titleOf(one)}</bdi> },
  { name: t('Channel'), value: ({ channel }) => channelName(channel) },
  { name: t('Status'), value: ({ status }) => <BroadcastState status={status} /> },
  { name: t('Progress'), value: (one) => <Turns {...one} /> },
  { name: t('Messages'), kind: 'number', value: ({ counts }) => number(counts.accepted) },
  {
    name: t('Price'),
    kind: 'number',
    value: ({ credits_used }) => <Money credits={credits_used} />,
  },
  {
    name: t('Begins'),
    value: ({ started_at, scheduled_at, created_at }) => (
      <Time at={started_at ?? scheduled_at ?? created_at} />
    ),
  },
]

const STATUSES = [
  ['', t('All statuses')],
  ['draft', t('Draft')],
  ['scheduled', t('Scheduled')],
  ['running', t('Running')],
  ['paused', t('Paused')],
  ['finished', t('Finished')],
  ['canceled', t('Canceled')],
] as const

function Broadcasts({ params: { id } }: PageProps) {
  return id ? <OneBroadcast key={id} id={id} /> : <List />
}

function List() {
  const filter = filtersOf('status', 'after') as { status?: Status; after?: string }
  const list = useLoad(
    (signal) => api.broadcasts.list({ limit: 20, ...filter }, { signal }),
    [filter],
  )
  const { status = '' } = filter
  useProgress(list.reload, { isOpen: list.data?.broadcasts.some(isOpen) ?? false })
  return (
    <>
      <PageHead
        title={t('Broadcasts')}
        text={t('A template to all contacts with a tag, one message each.')}
      >
        {may('send') && (
          <LinkButton kind="primary" icon="plus" to="/broadcasts/new">
            {t('New broadcast')}
          </LinkButton>
        )}
      </PageHead>
      <div class="filters">
        <Select
          bare
          label={t('Status')}
          value={status}
          options={STATUSES}
          onInput={(one) => setQuery({ status: one })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.broadcasts}
        label={t('Broadcasts')}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        to={({ id }) => `/broadcasts/${id}`}
        noun="broadcast"
        empty={
          <Empty
            icon="broadcasts"
            title={status ? t('No broadcast matches') : t('No broadcasts yet')}
          >
            {mode.value === 'test' ? (
              <p>{t('Test mode has no contacts, so it has no broadcasts.')}</p>
            ) : (
              !query.value.get('status') && (
                <p>
                  {t(
                    'Publish a template, tag the contacts that it is for, and see here what it costs before anything is sent.',
                  )}
                </p>
              )
            )}
            {query.value.get('status') && (
              <LinkButton to="/broadcasts">{t('Show all broadcasts')}</LinkButton>
            )}
          </Empty>
        }
      />
    </>
  )
}

export default { title: t('Broadcasts'), Page: Broadcasts }
