import { useEffect } from 'preact/hooks'
import { LinkButton } from '../parts/index.ts'
import { facts } from './facts.ts'
import { ownApi } from './own-api.ts'
import { loadSession } from './session.ts'
import { SignInForm } from './sign-in-form.tsx'

/** The sign-in of operators. */
export function OperatorSignIn() {
  useEffect(() => {
    document.title = `Operator sign-in · ${facts.brand}`
  }, [])
  return (
    <main class="alone">
      <h1>Operate {facts.brand}</h1>
      {facts.sign_in.includes('host') ? (
        <p>
          You are not signed in as an operator. The program that shows this page decides who is one.
        </p>
      ) : (
        <SignInForm
          label="Name"
          code="code"
          onSubmit={async (name, password, code) => {
            await ownApi.send('POST', '/operator/session', { name, password, ...code })
            await loadSession()
          }}
        >
          <p class="small">Operators are added with: svc operators add</p>
        </SignInForm>
      )}
      <LinkButton kind="quiet" to="/">
        Sign in to a workspace
      </LinkButton>
    </main>
  )
}
