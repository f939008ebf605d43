import { render } from 'preact'
import { App } from './shell/app.tsx'
import { loadSession, session, startError } from './shell/session.ts'

// Relative addresses would change their meaning with the address of the page.
for (const link of document.querySelectorAll('link')) link.setAttribute('href', link.href)

const root = document.getElementById('app')
if (root) render(<App />, root)

loadSession().catch((error) => {
  startError.value = error
  session.value = undefined
})
