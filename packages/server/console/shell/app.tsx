import { useEffect, useState } from 'preact/hooks'
import { PAGES } from '../pages.ts'
import { Button, ErrorBox, SecondFactor } from '../parts/index.ts'
import { facts } from './facts.ts'
import { Layout, NotAllowed, NotFound } from './layout.tsx'
import type { PageEntry } from './page.ts'
import { match, path } from './router.ts'
import { loadSession, may, operator, session, signOut, startError } from './session.ts'
import { OperatorSignIn, SignIn } from './sign-in.tsx'

/** The console: the sign-in, or the layout with the page of the address. */
export function App() {
  if (startError.value !== undefined) return <StartError />
  if (session.value === undefined) return null
  const isOperators = facts.operators && /^\/operator(\/|$)/.test(path.value)
  if (isOperators && operator.value === null) return <OperatorSignIn />
  if (!isOperators && (session.value === null || path.value === '/sign-in')) return <SignIn />
  if (!isOperators && session.value?.lacks_second_factor) return <AddSecondFactor />
  return (
    <Layout>
      <CurrentPage />
    </Layout>
  )
}

/** A person who needs a second factor adds one first. */
function AddSecondFactor() {
  const [isAdded, setAdded] = useState(false)
  return (
    <main class="alone">
      <h1>{facts.brand}</h1>
      <p>A second factor is needed here beside the password.</p>
      <SecondFactor path="/second-factor" code="otp" onChanged={() => setAdded(true)} />
      {isAdded && (
        <Button kind="primary" onClick={loadSession}>
          Continue
        </Button>
      )}
      <Button kind="quiet" onClick={signOut}>
        Sign out
      </Button>
    </main>
  )
}

function StartError() {
  async function retry() {
    try {
      await loadSession()
      startError.value = undefined
    } catch (error) {
      startError.value = error
    }
  }
  return (
    <main class="alone">
      <h1>{facts.brand}</h1>
      <ErrorBox error={startError.value} onRetry={retry} />
    </main>
  )
}

interface Found {
  entry: PageEntry
  params: Record<string, string>
}

function foundPage(): Found | null {
  for (const entry of PAGES) {
    if (entry.dev && !facts.dev) continue
    const params = match(entry.path, path.value)
    if (params) return { entry, params }
  }
  return null
}

function CurrentPage() {
  const found = foundPage()
  if (!found) return <NotFound />
  if (!may(found.entry.needs)) return <NotAllowed />
  return <Shown key={found.entry.path} {...found} />
}

function Shown({ entry: { module }, params }: Found) {
  useEffect(() => {
    document.title = `${module.title} · ${facts.brand}`
  }, [module])
  return <module.Page params={params} mayOpen={mayOpen} />
}

function mayOpen(to: string): boolean {
  const path = to.replace(/\?.*/, '')
  return PAGES.some((page) => match(page.path, path) && may(page.needs))
}
