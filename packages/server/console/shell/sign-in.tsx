import { useEffect } from 'preact/hooks'
import { Button, LinkButton, Preferences } from '../parts/index.ts'
import { base, facts } from './facts.ts'
import { go, path, query, root } from './router.ts'
import { operator, session } from './session.ts'
import { SignInForm } from './sign-in-form.tsx'
import { rich, t } from './text.ts'

/** Where a person goes after the sign-in: the page that was asked for. */
function nextPage(): string {
  if (path.value !== '/sign-in') return path.value + location.search
  const next = query.value.get('next') ?? '/'
  return next.startsWith('/') && !next.startsWith('//') ? next : '/'
}

/** The sign-in. */
export function SignIn() {
  const next = nextPage()
  useEffect(() => {
    document.title = `${t('Sign in')} · ${facts.brand}`
  }, [])
  return (
    <main class="alone">
      <h1>{rich('Sign in to {brand}', { brand: facts.brand })}</h1>
      {facts.sign_in.includes('host') ? (
        <p>
          {t('You are not signed in. Sign in to the program that shows this page, then reload it.')}
        </p>
      ) : (
        <>
          {facts.sign_in.includes('oidc') && (
            <a class="button wide" href={`${base}/oidc/start`}>
              {t('Sign in with your organization')}
            </a>
          )}
          {facts.sign_in.includes('password') && (
            <SignInForm
              path="/session"
              name="email"
              code="otp"
              label={t('E-mail address')}
              onDone={() => go(next, { replace: true })}
            >
              <a href={`${root}/forgot-password`}>{t('Forgot the password?')}</a>
            </SignInForm>
          )}
        </>
      )}
      {facts.operators && !facts.sign_in.includes('host') && (
        <LinkButton kind="quiet" to="/operator">
          {operator.value === null ? t('Sign in as an operator') : t('Operate the service')}
        </LinkButton>
      )}
      {session.value && (
        <Button kind="quiet" onClick={() => go('/')}>
          {continueText(session.value.user)}
        </Button>
      )}
      <Preferences bare />
    </main>
  )
}

function continueText({ name, email }: { name: string | null; email: string | null }): string {
  const shown = name ?? email
  return shown === null
    ? t('Continue without a new sign-in')
    : t('Continue as {name}', { name: shown })
}

/** The sign-in of operators. */
export function OperatorSignIn() {
  useEffect(() => {
    document.title = `${t('Operator sign-in')} · ${facts.brand}`
  }, [])
  return (
    <main class="alone">
      <h1>{rich('Operate {brand}', { brand: facts.brand })}</h1>
      {facts.sign_in.includes('host') ? (
        <p>
          {t(
            'You are not signed in as an operator. The program that shows this page decides who is one.',
          )}
        </p>
      ) : (
        <SignInForm path="/operator/session" name="name" code="code" label={t('Name')}>
          <p class="small">{t('Operators are added with: svc operators add')}</p>
        </SignInForm>
      )}
      <LinkButton kind="quiet" to="/">
        {t('Sign in to a workspace')}
      </LinkButton>
      <Preferences bare />
    </main>
  )
}
