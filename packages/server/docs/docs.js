const root = document.documentElement
const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const keyField = document.querySelector('#key')
const searchField = document.querySelector('#search')

root.dataset.script = ''
for (const form of all('.try')) form.hidden = false

// A narrow screen shows the reference first.
if (matchMedia('(max-width: 50rem)').matches) document.querySelector('#menu').open = false

/** A browser may refuse its storage. The language is no secret; the key is never stored. */
function remembered(language) {
  try {
    if (language) localStorage.setItem('svc-docs-language', language)
    return localStorage.getItem('svc-docs-language')
  } catch {
    return null
  }
}

for (const radio of all('[name=language]')) {
  radio.checked = radio.value === (remembered() ?? 'curl')
  if (radio.checked) root.dataset.language = radio.value
  radio.addEventListener('change', () => {
    root.dataset.language = radio.value
    remembered(radio.value)
  })
}

/** Shows the key in the samples. A text that is no key could change the meaning of a sample. */
const marks = all('.credential').map((mark) => ({ mark, before: mark.textContent }))
function showKey() {
  const key = keyField.value.trim()
  const isKey = /^svc_\w+$/.test(key)
  for (const { mark, before } of marks) {
    const { quote } = mark.dataset
    mark.textContent = isKey ? quote + key + quote : before
  }
}
keyField.addEventListener('input', showKey)

/** Beside `svc dev` the service gives its demo key to this machine. */
const { api_key } = await (await fetch('docs/key.json')).json()
if (api_key && keyField.value === '') keyField.value = api_key
showKey()

searchField.addEventListener('input', () => {
  const words = searchField.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const group of all('nav .group')) {
    for (const item of all('li', group)) {
      item.hidden = !words.every((word) => item.dataset.words.includes(word))
    }
    group.hidden = all('li', group).every((item) => item.hidden)
  }
  document.querySelector('#none').hidden = all('nav .group').some((group) => !group.hidden)
})
searchField.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter')
    all('nav li')
      .find((item) => !item.hidden)
      ?.querySelector('a')
      .click()
})
addEventListener('keydown', (event) => {
  const isTyping = event.target.matches('input:not([type=radio]), textarea')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  searchField.focus()
})

/** A link to a record opens it. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target?.matches('details')) target.open = true
  for (const link of all('nav li a')) {
    if (link.hash === location.hash && link.hash) link.setAttribute('aria-current', 'true')
    else link.removeAttribute('aria-current')
  }
}
addEventListener('hashchange', openTarget)
openTarget()

for (const button of all('.copy')) {
  button.addEventListener('click', async () => {
    const shown = all('pre', button.parentElement).find((sample) => sample.offsetParent)
    if (!shown) return
    try {
      await navigator.clipboard.writeText(shown.textContent)
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(shown)
      button.textContent = 'Selected'
    }
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1_500)
  })
}

/** The request of a form, to the host and path that served the page. */
function requestOf(form) {
  const { method, auth } = form.dataset
  const value = (name) => form.querySelector(`[data-in=${name}]`)?.value.trim()
  let path = form.dataset.path
  for (const input of all('[data-in=path]', form)) {
    path = path.replace(`{${input.name}}`, encodeURIComponent(input.value.trim()))
  }
  const query = value('query')?.replace(/^\?/, '')
  const url = new URL(`.${path}${query ? `?${query}` : ''}`, new URL('.', location.href))
  const credential = keyField.value.trim()
  const headers = {}
  if (auth !== 'none' && /^svc_/.test(credential)) headers['X-API-Key'] = credential
  else if (auth !== 'none' && credential) headers.Authorization = `Bearer ${credential}`
  const body = value('body')
  if (body) headers['Content-Type'] = 'application/json'
  return [url, { method, headers, ...(body && { body }) }]
}

function show(output, title, text) {
  const line = document.createElement('span')
  line.textContent = title
  const pre = document.createElement('pre')
  pre.textContent = text
  output.replaceChildren(line, pre)
}

for (const form of all('.try form')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const output = form.querySelector('output')
    const began = performance.now()
    try {
      const answer = await fetch(...requestOf(form))
      const text = await answer.text()
      const took = `${answer.status} in ${Math.round(performance.now() - began)} ms`
      const isJson = answer.headers.get('content-type')?.startsWith('application/json')
      show(output, took, isJson ? JSON.stringify(JSON.parse(text), null, 2) : text)
    } catch (error) {
      show(output, 'The request failed.', error.message)
    }
  })
}
