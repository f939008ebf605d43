import { createAnnouncer } from './announcer.js'
import { createComposer } from './compose.js'
import { h } from './dom.js'
import { createFilter } from './filter.js'
import { firstMail, firstMessage, listHint } from './guide.js'
import { mailLine, messageLine } from './lines.js'
import { createList, LINES_MAX } from './list.js'
import { mailView } from './mail.js'
import { createMessageView } from './message.js'
import { listen, read } from './requests.js'

/** The maximum number of messages in one event of the stream. */
const EVENT_MESSAGES_MAX = 200

const $ = (id) => document.getElementById(id)
const body = h('div')
const back = h('button', { type: 'button', class: 'back', onclick: goBack }, '← Back to the list')
$('detail').append(back, body)

const state = { workspaces: [], demo: null, workspace: null, view: null, mails: [] }
/** The list: the total, the cursor of the next page, and the number of the latest request. */
const found = { total: 0, cursor: null, request: 0 }
/** The stream of the workspace: the function that ends the stream, and whether an event has come. */
const stream = { stop: () => {}, hasBegun: false }

const announcer = createAnnouncer($('news'))
const filter = createFilter($('filter'))
const messageView = createMessageView(body, { onError: showProblem })
const list = createList($('list'), {
  href: (row) => addressOf(state.view, row.id),
  newerFirst: (a, b) => (a.id < b.id ? 1 : -1),
  content: (row) => (state.view === 'mails' ? mailLine(row) : messageLine(row)),
})
const composer = createComposer($('composer'), {
  keyOf,
  onSent(id) {
    announcer.announce('The message was accepted.')
    location.hash = addressOf('messages', id)
  },
})

function addressOf(view, id = '') {
  return `#/${state.workspace}/${view}/${id}`
}

function openId() {
  return location.hash.split('/')[3] ?? ''
}

/** A key of the shown workspace, if one is known. */
function keyOf() {
  return state.demo?.workspace_id === state.workspace ? state.demo.api_key : null
}

async function load(cursor) {
  found.request += 1
  const { request } = found
  const isMails = state.view === 'mails'
  const query = { workspace: state.workspace, ...filter.values(), ...(cursor && { cursor }) }
  const page = await (isMails ? read('mails') : read('messages', query))
  // The user has chosen another list in the meantime.
  if (request !== found.request) return
  if (isMails) state.mails = page.mails
  found.cursor = page.next_cursor
  found.total = isMails ? page.mails.length : page.total
  list.put(isMails ? page.mails : page.messages)
  showCount()
}

function reload() {
  list.clear()
  return load().catch(showProblem)
}

function showCount() {
  $('count').textContent =
    found.total > list.length ? `${list.length} of ${found.total}` : `${list.length}`
  $('older').hidden = !found.cursor || list.length >= LINES_MAX
  document.body.classList.toggle('is-empty', list.length === 0)
  if (openId() === '') showNothing()
}

/** Shows the guide beside the list while no entry is open. */
function showNothing() {
  messageView.close()
  body.replaceChildren(guide())
}

function guide() {
  if (list.length > 0) return listHint()
  if (state.view === 'mails') return firstMail()
  if (filter.isSet()) return h('p', { class: 'notice' }, 'No message matches the filter.')
  return firstMessage({ key: keyOf(), onCompose: composer.open })
}

function openMail(id) {
  const mail = state.mails.find((one) => String(one.id) === id)
  if (mail) body.replaceChildren(...mailView(mail))
  else showNothing()
}

function showProblem(error) {
  body.replaceChildren(h('p', { class: 'failure' }, error.message))
}

function onMessages({ messages, total }) {
  const isChange = stream.hasBegun
  stream.hasBegun = true
  messageView.refresh(messages.map(({ id }) => id))
  if (state.view !== 'messages') return
  const matching = messages.filter(filter.matches)
  const fresh = matching.filter(({ id }) => !list.has(id))
  // The event may lack messages, so the list is read again.
  if (isChange && fresh.length >= EVENT_MESSAGES_MAX) return reload()
  for (const row of messages) if (!filter.matches(row)) list.remove(row.id)
  list.put(matching)
  if (!filter.isSet()) found.total = total
  list.open(openId())
  showCount()
  if (!isChange) return
  announcer.count(fresh.length)
  const open = messages.find(({ id }) => id === openId())
  if (open) announcer.announce(`${open.recipient}: ${open.status}`)
}

function onMail(mail) {
  state.mails = [mail, ...state.mails]
  announcer.announce(`A mail to ${mail.to}: ${mail.subject}`)
  if (state.view !== 'mails') return
  found.total += 1
  list.put([mail])
  showCount()
}

function onState(name) {
  const live = $('live')
  const wasAway = live.dataset.state === 'reconnecting' && name === 'live'
  live.dataset.state = name
  live.textContent = name
  if (wasAway) load().catch(showProblem)
}

function openWorkspace(workspace) {
  state.workspace = workspace
  $('workspace').value = workspace
  stream.stop()
  stream.hasBegun = false
  stream.stop = listen(workspace, { onMessages, onMail, onState })
}

function openView(view) {
  state.view = view
  filter.offer(view === 'messages')
  for (const name of ['messages', 'mails']) {
    const link = $(`show-${name}`)
    link.href = addressOf(name)
    if (name === view) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

/** The workspace with this id. If there is none, the workspace of the demo key, or the oldest one. */
function workspaceOf(id) {
  const byId = (sought) => state.workspaces.find((one) => one.id === sought)
  return byId(id) ?? byId(state.demo?.workspace_id) ?? state.workspaces[0]
}

/** Shows the entry that the page's URL names: `#/<workspace>/<messages|mails>/<id>`. */
async function follow() {
  const [, workspaceId, name, id = ''] = location.hash.split('/')
  const workspace = workspaceOf(workspaceId)?.id
  if (!workspace) return showProblem(new Error('There is no workspace yet.'))
  const view = name === 'mails' ? 'mails' : 'messages'
  const isOther = workspace !== state.workspace || view !== state.view
  if (workspace !== state.workspace) openWorkspace(workspace)
  if (isOther) {
    openView(view)
    await reload()
  }
  list.open(view === 'mails' ? Number(id) : id)
  document.body.classList.toggle('has-open', id !== '')
  if (id === '') return showNothing()
  $('detail').scrollTop = 0
  if (view === 'mails') openMail(id)
  else await messageView.open(workspace, id)
  // On a phone the list is hidden, so the focus moves to the button that shows it.
  if (back.offsetParent) back.focus()
}

function goBack() {
  if (openId() !== '') location.hash = addressOf(state.view)
  document.body.classList.remove('has-open')
  list.focus()
}

async function loadWorkspaces() {
  const { workspaces, demo } = await read('workspaces')
  const isSame = workspaces.length === state.workspaces.length
  Object.assign(state, { workspaces, demo })
  if (isSame) return
  $('workspace').replaceChildren(
    ...workspaces.map(({ id, name, email }) => h('option', { value: id }, `${name} (${email})`)),
  )
  $('workspace').value = state.workspace ?? ''
}

addEventListener('hashchange', () => follow().catch(showProblem))
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape' && !$('composer').open) goBack()
})
filter.onChange(reload)
$('compose').addEventListener('click', composer.open)
$('older').addEventListener('click', () => load(found.cursor).catch(showProblem))
// Loads the workspaces again, because some may have been added.
$('workspace').addEventListener('focus', () => loadWorkspaces().catch(showProblem))
$('workspace').addEventListener('change', ({ target }) => {
  location.hash = `#/${target.value}/${state.view}/`
})

loadWorkspaces().then(follow).catch(showProblem)
