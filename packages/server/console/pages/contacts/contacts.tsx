import type { Contact } from '@svc/client'
import { useState } from 'preact/hooks'
import { download } from '../../parts/download.ts'
import {
  Badge,
  Button,
  Checks,
  type Column,
  confirm,
  Drawer,
  Empty,
  Facts,
  Form,
  LinkButton,
  ListPage,
  Loaded,
  PageHead,
  Search,
  Select,
  TextArea,
  TextInput,
  Time,
  toast,
} from '../../parts/index.ts'
import { api, fieldError } from '../../shell/api.ts'
import { base } from '../../shell/facts.ts'
import { useLoad } from '../../shell/load.ts'
import type { PageProps } from '../../shell/page.ts'
import { filtersOf, go, query, setQuery } from '../../shell/router.ts'
import { choiceHeaders, may } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { CHANNELS, channelName } from '../messages/channels.ts'
import { Import } from './import.tsx'
import { useKnownTags } from './known-tags.ts'
import { plainPhone } from './plain-phone.ts'

const COLUMNS: readonly Column<Contact>[] = [
  { name: t('Name'), kind: 'main', value: ({ name }) => name ?? t('No name') },
  { name: t('Phone'), value: ({ phone }) => phone },
  { name: t('E-mail'), value: ({ email }) => email },
  {
    name: t('Tags'),
    value: ({ tags }) => (
      <span class="tags">
        {tags.map((tag) => (
          <button key={tag} type="button" class="badge" onClick={() => setQuery({ tag })}>
            {tag}
          </button>
        ))}
      </span>
    ),
  },
  { name: t('Changed'), value: ({ updated_at }) => <Time at={updated_at} /> },
]

function Contacts({ params: { id } }: PageProps) {
  const filter = filtersOf('search', 'tag', 'after')
  const { search, tag } = filter
  const list = useLoad(
    (signal) => api.contacts.list({ ...filter, limit: 50 }, { signal }),
    [filter],
  )
  // Only the first tags are known, so the chosen one may be another.
  const tags = new Set([...(tag ? [tag] : []), ...useKnownTags()])
  const close = () => go(`/contacts${location.search}`)
  const opened = (name: string) => `/contacts/${name}${location.search}`
  async function exportAll() {
    const part = new URLSearchParams({
      format: 'csv',
      ...(search && { search }),
      ...(tag && { tag }),
    })
    const url = `${base}/api/v1/contacts/export?${part}`
    const response = await fetch(url, { headers: choiceHeaders() })
    if (!response.ok) throw new Error(t('The contacts could not be exported.'))
    download('contacts.csv', await response.text())
  }
  return (
    <>
      <PageHead title={t('Contacts')}>
        <Button icon="download" onClick={exportAll}>
          {t('Export')}
        </Button>
        {may('send') && (
          <>
            <LinkButton icon="upload" to={opened('import')}>
              {t('Import')}
            </LinkButton>
            <LinkButton icon="bulks" to={`/bulks/new?contacts=1&${query.value}`}>
              {t('Send to these')}
            </LinkButton>
            <LinkButton kind="primary" icon="plus" to={opened('new')}>
              {t('Add')}
            </LinkButton>
          </>
        )}
      </PageHead>
      <div class="filters">
        <Search
          placeholder={t('Search by name, phone, e-mail or own id')}
          value={search ?? ''}
          onInput={(text) => setQuery({ search: text })}
        />
        {tags.size > 0 && (
          <Select
            bare
            label={t('Tags')}
            value={tag ?? ''}
            options={[['', t('Tags')], ...[...tags].map((one) => [one, one] as const)]}
            onInput={(one) => setQuery({ tag: one })}
          />
        )}
      </div>
      <ListPage
        of={list}
        rowsOf={(answer) => answer.contacts}
        label={t('Contacts')}
        columns={COLUMNS}
        keyOf={(one) => one.id}
        to={(one) => opened(one.id)}
        current={id}
        noun="contact"
        empty={
          <Empty
            icon="contacts"
            title={search || tag ? t('No such contacts') : t('No contacts yet')}
          >
            <p>{t('People and their addresses, for bulks and names in conversations.')}</p>
          </Empty>
        }
      />
      {id === 'import' && may('send') && <Import onClose={close} onDone={list.reload} />}
      {id === 'new' && may('send') && (
        <Drawer title={t('New contact')} onClose={close}>
          <Edit onDone={close} onChange={list.reload} />
        </Drawer>
      )}
      {id && id !== 'new' && id !== 'import' && (
        <Details key={id} id={id} onClose={close} onChange={list.reload} />
      )}
    </>
  )
}

function Details({ id, onClose, onChange }: { id: string; onClose(): void; onChange(): void }) {
  const load = useLoad((signal) => api.contacts.get(id, { signal }), [id])
  async function remove() {
    const isConfirmed = await confirm({
      title: t('Delete the contact?'),
      text: t('Its messages and suppressions stay.'),
      action: t('Delete'),
      danger: true,
    })
    if (!isConfirmed) return
    await api.contacts.delete(id)
    onChange()
    onClose()
  }
  return (
    <Drawer title={t('Contact')} onClose={onClose}>
      <LinkButton icon="messages" to={`/people/${id}`}>
        {t('All messages and consent')}
      </LinkButton>
      <Loaded of={load}>
        {({ contact }) =>
          may('send') ? (
            <Edit contact={contact} onDone={onClose} onChange={onChange} onDelete={remove} />
          ) : (
            <Facts
              of={{
                ...Object.fromEntries(FIELDS.map(([id, label]) => [label, contact[id]])),
                [t('Tags')]: contact.tags.map((tag) => <Badge key={tag}>{tag}</Badge>),
                [t('Unsubscribed')]:
                  unsubscribedOf(contact).map(channelName).join(', ') || t('no channel'),
                [t('Attributes')]: <pre>{JSON.stringify(contact.attributes, null, 2)}</pre>,
              }}
            />
          )
        }
      </Loaded>
    </Drawer>
  )
}

function unsubscribedOf({ subscriptions }: Contact): string[] {
  return Object.entries(subscriptions).flatMap(([channel, state]) =>
    state === 'unsubscribed' ? [channel] : [],
  )
}

const FIELDS = [
  ['name', t('Name'), ''],
  ['phone', t('Phone'), t('With the country code, such as +255700000001.')],
  ['email', t('E-mail'), ''],
  ['external_id', t('Own id'), t('The id of the person in your own system.')],
] as const
const TAGS = ['tags', t('Tags'), t('With commas between them.')] as const

function Edit({
  contact,
  onDone,
  onChange,
  onDelete,
}: {
  contact?: Contact
  onDelete?(): Promise<void>
  onDone(): void
  onChange(): void
}) {
  const before = contact ? unsubscribedOf(contact) : []
  const [texts, setTexts] = useState<Record<string, string>>({
    ...Object.fromEntries(FIELDS.map(([id]) => [id, contact?.[id] ?? ''])),
    tags: contact?.tags.join(', ') ?? '',
  })
  const [attributes, setAttributes] = useState(JSON.stringify(contact?.attributes ?? {}, null, 2))
  const [unsubscribed, setUnsubscribed] = useState(before)
  const [fault, setFault] = useState<string>()
  const to = new URLSearchParams(
    contact?.phone ? { to: contact.phone } : { channel: 'email', to: contact?.email ?? '' },
  )
  async function save() {
    const changed = CHANNELS.filter(([id]) => before.includes(id) !== unsubscribed.includes(id))
    let values: Record<string, unknown>
    setFault(undefined)
    try {
      values = JSON.parse(attributes || '{}')
    } catch {
      setFault(t('Attributes are a JSON object, such as {"city": "Dar es Salaam"}.'))
      return
    }
    const body = {
      ...Object.fromEntries(FIELDS.map(([id]) => [id, texts[id]?.trim() || null])),
      phone: plainPhone(texts.phone ?? '') || null,
      tags: texts.tags?.split(',').flatMap((tag) => tag.trim() || []) ?? [],
      attributes: values,
      subscriptions: Object.fromEntries(
        changed.map(
          ([id]) => [id, unsubscribed.includes(id) ? 'unsubscribed' : 'subscribed'] as const,
        ),
      ),
    }
    if (contact) await api.contacts.update(contact.id, body)
    else await api.contacts.create(body)
    toast(t('Saved'))
    onChange()
    onDone()
  }
  return (
    <Form
      action={t('Save')}
      onSubmit={save}
      more={
        contact && (
          <>
            <Button kind="danger" icon="trash" onClick={() => onDelete?.()}>
              {t('Delete')}
            </Button>
            <LinkButton icon="compose" to={`/compose?${to}`}>
              {t('Send message')}
            </LinkButton>
          </>
        )
      }
    >
      {(error) => (
        <>
          {[...FIELDS, TAGS].map(([id, label, hint], i) => (
            <TextInput
              key={id}
              label={label}
              hint={hint}
              autofocus={!contact && i === 0}
              error={fieldError(error, id)}
              value={texts[id] ?? ''}
              onInput={(text) => setTexts({ ...texts, [id]: text })}
            />
          ))}
          <Checks
            label={t('Unsubscribed from')}
            options={CHANNELS}
            chosen={unsubscribed}
            onChange={setUnsubscribed}
          />
          <TextArea
            label={t('Attributes')}
            rows={4}
            value={attributes}
            error={fault ?? fieldError(error, 'attributes')}
            hint={t('JSON. Bulks fill them into placeholders.')}
            onInput={setAttributes}
          />
        </>
      )}
    </Form>
  )
}

export default { title: t('Contacts'), Page: Contacts }
