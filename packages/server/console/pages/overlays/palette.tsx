import { useEffect, useState } from 'preact/hooks'
import { PAGES } from '../../pages.ts'
import { Dialog } from '../../parts/index.ts'
import { findPeople, useListbox } from '../../parts/people.tsx'
import { api } from '../../shell/api.ts'
import { facts } from '../../shell/facts.ts'
import { count } from '../../shell/format.ts'
import { askLater } from '../../shell/load.ts'
import { overlay } from '../../shell/overlay.ts'
import { ownApi } from '../../shell/own-api.ts'
import type { PageEntry } from '../../shell/page.ts'
import { go } from '../../shell/router.ts'
import { chooseMode, may, mode, session } from '../../shell/session.ts'
import { t } from '../../shell/text.ts'
import { summaryOf } from '../messages/content.tsx'

interface Entry {
  key: string
  text: string
  hint: string
  run(): void
}

const TYPING_MS = 150
/** The shortest maximum of the searches: that of workspaces. */
const TEXT_MAX = 254
const SHOWN_MAX = 12
const ID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

const to = (path: string, text: string, hint: string): Entry => ({
  ...{ key: `${hint} ${path}`, text, hint },
  run: () => go(path),
})

function actions(): Entry[] {
  const sending = may('send')
    ? [
        to('/compose', t('New message'), t('Action')),
        to('/bulks/new', t('New bulk'), t('Action')),
        to('/broadcasts/new', t('New broadcast'), t('Action')),
        to('/contacts/new', t('Add a contact'), t('Action')),
        to('/contacts/import', t('Import contacts'), t('Action')),
      ]
    : []
  const other = mode.value === 'test' ? 'live' : 'test'
  const common: Entry[] = session.value
    ? [
        {
          ...{
            key: 'mode',
            text: other === 'live' ? t('Show live data') : t('Show test data'),
            hint: t('Action'),
          },
          run: () => chooseMode(other),
        },
      ]
    : []
  const operating = may('operate')
    ? [
        to('/operator/queues?act=pause', t('Pause all sending and delivering'), t('Operator')),
        to('/operator/providers', t('Pause a provider'), t('Operator')),
      ]
    : []
  const keys: Entry = {
    ...{ key: 'keys', text: t('Keyboard'), hint: t('Action') },
    run() {
      overlay.value = 'shortcuts'
    },
  }
  return [...sending, ...common, ...operating, keys]
}

function pages(): Entry[] {
  const isShown = ({ label, needs, dev }: PageEntry) => label && may(needs) && (!dev || facts.dev)
  return PAGES.filter(isShown).map(({ path, label = '', group }) =>
    to(path.replace(/\/:.*$/, '') || '/', label, group === 'Operator' ? t('Operator') : t('Page')),
  )
}

/** Whether each word of the search begins a word of the text. */
function matches(text: string, search: string): boolean {
  const words = text.toLowerCase().split(/\s+/)
  const searched = search.toLowerCase().split(/\s+/).filter(Boolean)
  return searched.every((one) => words.some((word) => word.startsWith(one)))
}

const maySearch = () => may('read') || may('operate')

/** What an id names: a message, a bulk or a contact. */
async function named(id: string, signal: AbortSignal): Promise<Entry[]> {
  const found = await Promise.allSettled([
    api.messages
      .get(id, { signal })
      .then(({ message }) =>
        to(`/messages/${id}`, `${message.recipient}: ${summaryOf(message.content)}`, t('Message')),
      ),
    api.bulks
      .get(id, { signal })
      .then(({ bulk }) => to(`/bulks/${id}`, count(bulk.total, 'message'), t('Bulk'))),
    api.contacts
      .get(id, { signal })
      .then(({ contact }) => to(`/people/${id}`, contact.name ?? t('Contact'), t('Contact'))),
  ])
  return found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

async function searched(search: string, signal: AbortSignal): Promise<Entry[]> {
  if (ID.test(search)) return named(search, signal)
  const people = await findPeople(search, signal)
  return people.map(({ id, name, phone, email }) => {
    const address = phone ?? email ?? ''
    return to(`/people/${id}`, name ? `${name}, ${address}` : address, t('Contact'))
  })
}

const WORKSPACES_MAX = 8

/** The workspaces of the service that an operator may mean, by name, e-mail address or id. */
async function workspaces(search: string, signal: AbortSignal): Promise<Entry[]> {
  const { workspaces: found } = await ownApi.get<{ workspaces: { id: string; name: string }[] }>(
    '/operator/workspaces',
    { search },
    signal,
  )
  return found
    .slice(0, WORKSPACES_MAX)
    .map(({ id, name }) => to(`/operator/workspaces/${id}`, name, t('Workspace')))
}

/** Pages, actions, people, for operators workspaces, and what an id names, found by typing (⌘K). */
export function Palette({ onClose }: { onClose(): void }) {
  const [text, setText] = useState('')
  const [found, setFound] = useState<{ search: string; entries: Entry[] }>()
  const search = text.trim().slice(0, TEXT_MAX)
  useEffect(() => {
    if (search.length < 2 || !maySearch()) return setFound(undefined)
    return askLater(
      TYPING_MS,
      async (signal) => {
        const all = await Promise.all([
          may('read') ? searched(search, signal) : [],
          may('operate') ? workspaces(search, signal) : [],
        ])
        return all.flat()
      },
      (entries) => setFound({ search, entries }),
      () => setFound({ search, entries: [] }),
    )
  }, [search])
  const messages = to(
    `/messages?${new URLSearchParams({ search })}`,
    t('Search messages for {search}', { search }),
    t('Search'),
  )
  const own = [...actions(), ...pages()].filter((one) => matches(one.text, search))
  const entries = [
    ...own.slice(0, search ? SHOWN_MAX : undefined),
    ...(search && found ? found.entries : []),
    ...(search && may('read') ? [messages] : []),
  ]
  const list = useListbox({
    items: entries,
    label: t('Pages, actions and people'),
    choiceOf: (entry) => entry,
    onChoose(entry) {
      onClose()
      entry.run()
    },
    isAlwaysOpen: true,
  })
  const isSearching = search.length > 1 && found?.search !== search && maySearch()
  const label = may('operate')
    ? t('Page, action, workspace, person or id')
    : t('Page, action, person or id')
  return (
    <Dialog title={t('Go to')} onClose={onClose}>
      <div class="palette">
        <input
          {...list.input}
          // The dialog focuses it when it opens.
          autofocus
          type="text"
          dir="auto"
          aria-label={label}
          placeholder={label}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        {list.list}
        <p class="small" role="status">
          {isSearching ? t('Searching…') : count(entries.length, 'result')}
        </p>
      </div>
    </Dialog>
  )
}
