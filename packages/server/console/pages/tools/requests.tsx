import { useState } from 'preact/hooks'
import type { RequestLine, WholeRequest } from '../../../src/dev/dev-answers.ts'
import {
  Badge,
  type Column,
  Copy,
  Drawer,
  Empty,
  Facts,
  LinkButton,
  Loaded,
  PageHead,
  Search,
  Select,
  Table,
  Time,
} from '../../parts/index.ts'
import { duration } from '../../shell/format.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { go, query, setQuery } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { useToolEvents } from './live.ts'

const KEPT_MAX = 500

const COLUMNS: readonly Column<RequestLine>[] = [
  { name: t('Request'), kind: 'main', value: ({ method, path }) => `${method} ${path}` },
  {
    name: t('Status'),
    value: ({ status, error }) => (
      <span>
        <Status status={status} /> {error}
      </span>
    ),
  },
  { name: t('Duration'), kind: 'number', value: ({ duration_ms }) => duration(duration_ms) },
  { name: t('Key'), value: ({ key }) => key ?? t('none') },
  { name: t('Time'), value: ({ at }) => <Time at={at} /> },
]

const METHODS = ['', 'GET', 'POST', 'PUT', 'DELETE'].map(
  (one) => [one, one || t('All methods')] as const,
)

const RESULTS = [
  ['', t('All results')],
  ['2', t('Successful')],
  ['4', t('Refused (4xx)')],
  ['5', t('Failed (5xx)')],
] as const

function Status({ status }: { status: number }) {
  return <Badge tone={status < 400 ? 'good' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>
}

function Requests({ params }: PageProps) {
  const [fresh, setFresh] = useState<RequestLine[]>([])
  const load = useLoad(
    (signal) => ownApi.get<{ requests: RequestLine[] }>('/dev/requests', {}, signal),
    [],
  )
  useToolEvents(
    'request',
    (data) => setFresh((old) => [JSON.parse(data) as RequestLine, ...old].slice(0, KEPT_MAX)),
    () => {
      setFresh([])
      load.reload()
    },
  )
  const [method = '', result = '', search = ''] = ['method', 'result', 'search'].map(
    (name) => query.value.get(name) ?? '',
  )
  const isShown = (one: RequestLine) =>
    (!method || one.method === method) &&
    String(one.status).startsWith(result) &&
    `${one.path} ${one.key} ${one.error} ${one.request_id}`
      .toLowerCase()
      .includes(search.toLowerCase())
  return (
    <>
      <PageHead
        title={t('Requests')}
        text={t(
          'The last 500 requests to the API and its compatible APIs, in memory. Keys, passwords and tokens are masked.',
        )}
      />
      <div class="filters">
        <Search
          placeholder={t('Search path, key, error or request id')}
          value={search}
          onInput={(value) => setQuery({ search: value }, { to: '/tools/requests' })}
        />
        <Select
          bare
          label={t('Method')}
          value={method}
          options={METHODS}
          onInput={(value) => setQuery({ method: value }, { to: '/tools/requests' })}
        />
        <Select
          bare
          label={t('Result')}
          value={result}
          options={RESULTS}
          onInput={(value) => setQuery({ result: value }, { to: '/tools/requests' })}
        />
      </div>
      <Loaded of={load}>
        {({ requests }) => {
          const known = new Set(requests.map(({ id }) => id))
          const all = [...fresh.filter(({ id }) => !known.has(id)), ...requests].slice(0, KEPT_MAX)
          const rows = all.filter(isShown)
          if (rows.length === 0) {
            return (
              <Empty
                title={
                  all.length === 0 ? t('No requests yet') : t('No request matches the filters')
                }
              >
                <p>{t('Requests of programs and of the command line appear here at once.')}</p>
                <LinkButton to="/tools">{t('Quick start')}</LinkButton>
              </Empty>
            )
          }
          return (
            <Table
              label={t('Requests')}
              columns={COLUMNS}
              rows={rows}
              keyOf={({ id }) => String(id)}
              to={({ id }) => `/tools/requests/${id}${location.search}`}
              current={params.id}
            />
          )
        }}
      </Loaded>
      {params.id && (
        <Details
          key={params.id}
          id={params.id}
          onClose={() => go(`/tools/requests${location.search}`)}
        />
      )}
    </>
  )
}

function Details({ id, onClose }: { id: string; onClose(): void }) {
  const load = useLoad(
    (signal) => ownApi.get<{ request: WholeRequest }>(`/dev/requests/${id}`, {}, signal),
    [id],
  )
  return (
    <Drawer title={t('Request')} onClose={onClose}>
      <Loaded of={load}>
        {({ request: one }) => (
          <div class="stack">
            <Facts
              of={{
                [t('Request')]: `${one.method} ${one.path}`,
                [t('Status')]: <Status status={one.status} />,
                [t('Error')]: one.error,
                [t('Duration')]: t('{duration_ms} ms', { duration_ms: one.duration_ms }),
                [t('Key')]: one.key ?? t('none'),
                [t('Request id')]: <Copy value={one.request_id} />,
                [t('Time')]: <Time at={one.at} exact />,
              }}
            />
            <Body title={t('Request body')} text={one.request_body} />
            <Body title={t('Answer')} text={one.response_body} />
          </div>
        )}
      </Loaded>
    </Drawer>
  )
}

function Body({ title, text }: { title: string; text: string | null }) {
  if (text === null) return null
  return (
    <section>
      <h3>{title}</h3>
      <pre>{text}</pre>
    </section>
  )
}

export default { title: t('Requests'), Page: Requests }
