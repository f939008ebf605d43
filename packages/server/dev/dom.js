/**
 * Creates an element. A property that begins with `on` is a listener, any other is an attribute. A property with null
 * or false is left out. Children are elements or text, so that the text of a message is never parsed as HTML.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined))
  return element
}

/** Shows a time; with the date, if the date is not today. */
export function time(at) {
  const date = new Date(at)
  const isToday = date.toDateString() === new Date().toDateString()
  const day = isToday ? '' : `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })} `
  return h('time', { datetime: at, title: date.toLocaleString() }, day + date.toLocaleTimeString())
}

/** A status as a coloured word. */
export function badge(status) {
  return h('span', { class: 'badge', 'data-status': status }, status)
}

/** A command with a button that copies it. */
export function code(text) {
  const button = h('button', { type: 'button', class: 'copy' }, 'Copy')
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text)
    button.textContent = 'Copied'
  })
  return h('div', { class: 'code' }, h('pre', { tabindex: '0' }, text), button)
}
