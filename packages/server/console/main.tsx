import { render } from 'preact'
import { App } from './shell/app.tsx'
import { loadSession, session } from './shell/session.ts'
import { startError } from './shell/start.ts'

const root = document.getElementById('app')
if (root) render(<App />, root)

loadSession().catch((error) => {
  startError.value = error
  session.value = undefined
})
