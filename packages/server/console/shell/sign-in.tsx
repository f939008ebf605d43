import { useEffect, useState } from 'preact/hooks'
import { Button, ErrorBox, LinkButton, TextInput } from '../parts/index.ts'
import { base, facts } from './facts.ts'
import { go, path, query, root } from './router.ts'
import { operator, session, signIn } from './session.ts'

/** Where a person goes after the sign-in: the page that was asked for. */
function nextPage(): string {
  if (path.value !== '/sign-in') return path.value + location.search
  const next = query.value.get('next') ?? '/'
  return next.startsWith('/') && !next.startsWith('//') ? next : '/'
}

/** The sign-in. */
export function SignIn() {
  useEffect(() => {
    document.title = `Sign in · ${facts.brand}`
  }, [])
  return (
    <main class="alone">
      <h1>Sign in to {facts.brand}</h1>
      {facts.sign_in.includes('host') ? (
        <p>You are not signed in. Sign in to the program that shows this page, then reload it.</p>
      ) : (
        <>
          {facts.sign_in.includes('oidc') && (
            <a class="button wide" href={`${base}/oidc/start`}>
              Sign in with your organization
            </a>
          )}
          {facts.sign_in.includes('password') && <PasswordForm />}
        </>
      )}
      {facts.operators && !facts.sign_in.includes('host') && (
        <LinkButton kind="quiet" to="/operator">
          {operator.value === null ? 'Sign in as an operator' : 'Operate the service'}
        </LinkButton>
      )}
      {session.value && (
        <Button kind="quiet" onClick={() => go('/')}>
          Continue as {session.value.user.name ?? session.value.user.email ?? 'you are'}
        </Button>
      )}
    </main>
  )
}

function PasswordForm() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  async function submit(event: Event) {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    const next = nextPage()
    try {
      await signIn(email.trim(), password)
      go(next, { replace: true })
    } catch (failure) {
      setError(failure)
      setBusy(false)
    }
  }
  return (
    <form onSubmit={submit}>
      {error !== undefined && <ErrorBox error={error} />}
      <TextInput
        label="E-mail address"
        type="email"
        autocomplete="username"
        required
        autofocus
        value={email}
        onInput={setEmail}
      />
      <TextInput
        label="Password"
        type="password"
        autocomplete="current-password"
        required
        value={password}
        onInput={setPassword}
      />
      <Button kind="primary" type="submit" busy={isBusy}>
        Sign in
      </Button>
      <a href={`${root}/forgot-password`}>Forgot the password?</a>
    </form>
  )
}
