import { useEffect, useState } from 'preact/hooks'
import { PAGES } from '../pages.ts'
import { Button, ErrorBox, Loaded, SecondFactor } from '../parts/index.ts'
import { facts } from './facts.ts'
import { Layout, NotAllowed, NotFound } from './layout.tsx'
import type { Load } from './load.ts'
import type { PageEntry, PageModule } from './page.ts'
import { loadedPage, openPage, pageAt, prepareAll } from './page-scripts.ts'
import { match, path } from './router.ts'
import { loadSession, may, operator, session, signOut, startError } from './session.ts'
import { OperatorSignIn, SignIn } from './sign-in.tsx'
import { t } from './text.ts'

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
      <p>{t('A second factor is needed here beside the password.')}</p>
      <SecondFactor path="/second-factor" code="otp" onChanged={() => setAdded(true)} />
      {isAdded && (
        <Button kind="primary" onClick={loadSession}>
          {t('Continue')}
        </Button>
      )}
      <Button kind="quiet" onClick={signOut}>
        {t('Sign out')}
      </Button>
    </main>
  )
}

/** The longest wait of a page before it asks again by itself. */
const RETRY_MAX_S = 60

function StartError() {
  const { value: error } = startError
  async function retry() {
    try {
      await loadSession()
      startError.value = undefined
    } catch (error) {
      startError.value = error as Error
    }
  }
  useEffect(() => {
    if (!error?.retry_after_s) return
    const timer = setTimeout(retry, Math.min(error.retry_after_s, RETRY_MAX_S) * 1000)
    return () => clearTimeout(timer)
  }, [error])
  return (
    <main class="alone">
      <h1>{facts.brand}</h1>
      <ErrorBox error={error} onRetry={retry} />
    </main>
  )
}

function CurrentPage() {
  const found = pageAt(path.value)
  if (!found) return <NotFound />
  if (!may(found.entry.needs)) return <NotAllowed />
  return <Shown key={found.entry.path} {...found} />
}

function Shown({ entry, params }: NonNullable<ReturnType<typeof pageAt>>) {
  const load = usePage(entry)
  const { data: page } = load
  useEffect(() => {
    if (!page) return
    document.title = `${page.title} · ${facts.brand}`
    prepareAll()
  }, [page])
  if (!page) return <Loaded of={load}>{() => null}</Loaded>
  return <page.Page params={params} mayOpen={mayOpen} />
}

/** The page of an entry, whose script may have to be loaded. */
function usePage(entry: PageEntry): Load<PageModule> {
  const [data, set] = useState(() => loadedPage(entry))
  const [error, setError] = useState<unknown>()
  const open = (isRetry: boolean) => openPage(entry, isRetry).then(set, setError)
  useEffect(() => {
    if (!data) void open(false)
  }, [])
  return { data, error, isLoading: error === undefined, reload: () => open(true), set }
}

function mayOpen(to: string): boolean {
  const path = to.replace(/\?.*/, '')
  return PAGES.some((page) => match(page.path, path) && may(page.needs))
}
