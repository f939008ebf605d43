import type { ListedTemplate } from '@svc/client'
import {
  Badge,
  type Column,
  Empty,
  LinkButton,
  ListPage,
  Loaded,
  PageHead,
  Time,
} from '../../parts/index.ts'
import { api } from '../../shell/api.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { query, root } from '../../shell/router.ts'
import { may, session } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { channelName } from '../messages/channels.ts'
import { unsavedOf } from './edited.ts'
import { Editor, TemplateState } from './editor.tsx'

const listed = (values: string[]) => [...new Set(values)].join(', ')

const COLUMNS: readonly Column<ListedTemplate>[] = [
  { name: t('Name'), kind: 'main', value: ({ name }) => name },
  {
    name: t('Channels'),
    value: ({ variants }) => listed(variants.map(({ channel }) => channelName(channel))),
  },
  { name: t('Languages'), value: ({ variants }) => listed(variants.map(({ locale }) => locale)) },
  { name: t('Version'), kind: 'number', value: ({ version }) => version ?? '–' },
  {
    name: t('Draft'),
    value: (one) => (
      <span class="tags">
        <TemplateState {...one} />
        {unsavedOf(one.name) && <Badge tone="warn">{t('not saved')}</Badge>}
      </span>
    ),
  },
  { name: t('Changed'), value: ({ updated_at }) => <Time at={updated_at} /> },
]

function Templates({ params: { name } }: PageProps) {
  if (name) return <Stored key={name} name={name} />
  if (query.value.get('new') && may('send')) {
    return <Editor key={session.value?.workspace_id} template={null} onChange={() => {}} />
  }
  return <List />
}

function Stored({ name }: { name: string }) {
  const load = useLoad(
    (signal) => api.templates.get(name, { signal }).then(({ template }) => template),
    [name],
  )
  return (
    <>
      {!load.data && <PageHead title={name} />}
      <Loaded of={load}>{(template) => <Editor template={template} onChange={load.set} />}</Loaded>
    </>
  )
}

function List() {
  const after = query.value.get('after') ?? undefined
  const list = useLoad(
    (signal) => api.templates.list({ limit: 50, ...(after && { after }) }, { signal }),
    [after],
  )
  const add = may('send') && (
    <LinkButton kind="primary" icon="plus" to="/templates?new=1">
      {t('New template')}
    </LinkButton>
  )
  return (
    <>
      <PageHead
        title={t('Templates')}
        text={t('Texts of messages in several languages, which a program sends by their name.')}
      >
        {add}
      </PageHead>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.templates}
        label={t('Templates')}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        to={(one) => `/templates/${one.name}`}
        noun="template"
        empty={
          <Empty icon="templates" title={t('No templates yet')}>
            <p>
              {t(
                'A text that is stored here can be changed without a change of your program. Messages use it once it is published.',
              )}
            </p>
            <a
              class="button plain"
              href={`${root}/docs#templates.create`}
              target="_blank"
              rel="noreferrer"
            >
              {t('Read the reference')}
            </a>
          </Empty>
        }
      />
    </>
  )
}

export default { title: t('Templates'), Page: Templates }
