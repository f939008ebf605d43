import type { OperatorWorkspace } from '../../../src/console-api/operator/answers.ts'
import { Badge, Empty, ListPage, Money, PageHead, Search, Time } from '../../parts/index.ts'
import { useLoad } from '../../shell/load.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageProps } from '../../shell/page.ts'
import { query, setQuery } from '../../shell/router.ts'
import { t } from '../../shell/text.ts'
import { wordOf } from '../../shell/words.ts'
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
      <PageHead title={t('Workspaces')} />
      <div class="filters">
        <Search
          placeholder={t('Name, e-mail address or id')}
          value={search}
          onInput={(text) => setQuery({ search: text }, { to: '/operator/workspaces' })}
        />
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.workspaces}
        label={t('Workspaces')}
        keyOf={(one) => one.id}
        to={(one) => `/operator/workspaces/${one.id}${location.search}`}
        current={id}
        columns={[
          { name: t('Name'), kind: 'main', value: ({ name }) => name },
          { name: t('E-mail'), kind: 'wide', value: ({ email }) => email },
          {
            name: t('Status'),
            value: ({ status }) => (
              <Badge tone={status === 'active' ? 'good' : 'bad'}>{wordOf(status)}</Badge>
            ),
          },
          {
            name: t('Available'),
            kind: 'number',
            value: ({ available }) => <Money credits={available} />,
          },
          { name: t('Created'), value: ({ created_at }) => <Time at={created_at} /> },
        ]}
        noun="workspace"
        empty={<Empty title={search ? t('No workspace matches') : t('No workspaces yet')} />}
      />
      {id && <OneWorkspace key={id} id={id} onChange={list.reload} />}
    </>
  )
}

export default { title: t('Workspaces'), Page: Workspaces }
