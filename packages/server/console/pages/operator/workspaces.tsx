import type { OperatorWorkspace } from '../../../src/console-api/operator/answers.ts'
import { Badge, Empty, ListPage, Money, PageHead, Search, Time } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { query, setQuery } from '../../shell/router.ts'
import { OneWorkspace } from './one-workspace.tsx'

function Workspaces({ params: { id } }: PageProps) {
  const search = query.value.get('search') ?? ''
  const after = query.value.get('after') ?? undefined
  const list = useLoad(
    (signal) =>
      ownApi.get<{ workspaces: OperatorWorkspace[]; next_after: string | null }>(
        '/operator/workspaces',
        { search, after },
        signal,
      ),
    [search, after],
  )
  return (
    <>
      <PageHead title="Workspaces" />
      <div class="filters">
        <Search
          placeholder="Name, e-mail address or id"
          value={search}
          onInput={(text) => setQuery({ search: text }, { to: '/operator/workspaces' })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.workspaces}
        label="Workspaces"
        keyOf={(one) => one.id}
        to={(one) => `/operator/workspaces/${one.id}${location.search}`}
        current={id}
        columns={[
          { name: 'Name', kind: 'main', value: ({ name }) => name },
          { name: 'E-mail', kind: 'wide', value: ({ email }) => email },
          {
            name: 'Status',
            value: ({ status }) => (
              <Badge tone={status === 'active' ? 'good' : 'bad'}>{status}</Badge>
            ),
          },
          {
            name: 'Available',
            kind: 'number',
            value: ({ available }) => <Money credits={available} />,
          },
          { name: 'Created', value: ({ created_at }) => <Time at={created_at} /> },
        ]}
        noun="workspace"
        empty={<Empty title={search ? 'No workspace matches' : 'No workspaces yet'} />}
      />
      {id && <OneWorkspace key={id} id={id} onChange={list.reload} />}
    </>
  )
}

export default { title: 'Workspaces', Page: Workspaces }
