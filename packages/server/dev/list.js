import { h } from './dom.js'

/** The maximum number of lines; older lines are dropped. */
export const LINES_MAX = 1_000

/**
 * A list of lines, newest first, with arrow keys: `content(row)` returns the parts of a line, `href(row)` the target of its
 * link.
 */
export function createList(element, { content, href, newerFirst }) {
  let lines = new Map()
  let openId = null

  const links = () => [...element.querySelectorAll('a')]

  function lineOf(row, before) {
    if (before?.row === row) return before
    const link = before?.link ?? h('a', { class: 'line', tabindex: '-1' })
    link.replaceChildren(...content(row))
    link.href = href(row)
    if (before && before.row.status !== row.status) link.classList.add('moved')
    return { row, link, item: before?.item ?? h('li', {}, link) }
  }

  /** Makes one line reachable with the Tab key; arrow keys reach the others. */
  function makeReachable(link) {
    for (const other of links()) other.tabIndex = other === link ? 0 : -1
  }

  function show() {
    const ordered = [...lines.values()].sort((a, b) => newerFirst(a.row, b.row))
    for (const { row } of ordered.splice(LINES_MAX)) lines.delete(row.id)
    for (const [index, { item }] of ordered.entries()) {
      if (element.children[index] !== item)
        element.insertBefore(item, element.children[index] ?? null)
    }
    while (element.children.length > ordered.length) element.lastElementChild.remove()
    const all = links()
    if (!all.some((link) => link.tabIndex === 0) && all[0]) makeReachable(all[0])
  }

  element.addEventListener('animationend', ({ target }) => target.classList.remove('moved'))
  element.addEventListener(
    'focusin',
    ({ target }) => target.closest('a') && makeReachable(target.closest('a')),
  )
  element.addEventListener('keydown', (event) => {
    const all = links()
    const at = all.indexOf(document.activeElement)
    const page = 10
    const to = {
      ArrowDown: at + 1,
      ArrowUp: Math.max(0, at - 1),
      Home: 0,
      End: all.length - 1,
      PageDown: Math.min(all.length - 1, at + page),
      PageUp: Math.max(0, at - page),
    }[event.key]
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    all[to]?.focus()
  })

  return {
    /** Adds or updates rows. */
    put(rows) {
      for (const row of rows) lines.set(row.id, lineOf(row, lines.get(row.id)))
      show()
    },
    remove(id) {
      if (lines.delete(id)) show()
    },
    clear() {
      lines = new Map()
      element.replaceChildren()
    },
    /** Marks the line that is open. */
    open(id) {
      openId = id
      for (const [of, { link }] of lines) {
        if (of === id) link.setAttribute('aria-current', 'true')
        else link.removeAttribute('aria-current')
      }
      const link = lines.get(id)?.link
      if (link) makeReachable(link)
    },
    /** Moves the focus to the open line, or to the first. */
    focus() {
      const link = lines.get(openId)?.link ?? links()[0]
      if (link) link.focus()
      else element.focus()
    },
    oldestId: () => [...lines.values()].at(-1)?.row.id,
    get length() {
      return lines.size
    },
    has: (id) => lines.has(id),
  }
}
