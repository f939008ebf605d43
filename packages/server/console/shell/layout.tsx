import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { PAGES } from '../pages.ts'
import { Button, LinkButton } from '../parts/button.tsx'
import { Confirmation } from '../parts/dialog.tsx'
import { Select } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty } from '../parts/loaded.tsx'
import { Toasts } from '../parts/toast.tsx'
import { facts } from './facts.ts'
import { Keys } from './keys.tsx'
import { isApple, overlay } from './overlay.ts'
import { ownApi } from './own-api.ts'
import { GROUPS, type PageEntry } from './page.ts'
import { go, hrefOf, match, path, root } from './router.ts'
import { chooseMode, chooseWorkspace, may, mode, operator, session, signOut } from './session.ts'
import { lostStreams } from './stream.ts'
import { t } from './text.ts'
import { wordOf } from './words.ts'

/** The frame of every page: navigation, workspace, mode and person. */
export function Layout({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path.value])
  return (
    <div class={`layout${mode.value === 'test' ? ' is-test' : ''}`}>
      <a class="skip" href="#content">
        {t('Skip to content')}
      </a>
      <header class="topbar">
        <Button
          kind="quiet"
          icon={isOpen ? 'close' : 'menu'}
          label={isOpen ? t('Close menu') : t('Menu')}
          onClick={() => setOpen(!isOpen)}
        />
        <Brand />
        {session.value && <ModeSwitch />}
      </header>
      <aside class={isOpen ? 'side open' : 'side'}>
        <Brand />
        <Workspaces />
        <GoTo />
        <Navigation />
        <Operator />
        <Person />
      </aside>
      <main id="content" tabIndex={-1}>
        {mode.value === 'test' && !path.value.startsWith('/operator') && (
          <p class="mode-note">
            <strong>{t('Test mode.')}</strong>{' '}
            {t('Messages are simulated, cost nothing and reach no recipient.')}
          </p>
        )}
        {children}
      </main>
      <p class="connection" role="status">
        {lostStreams.value > 0 && t('Connection lost. Connecting again…')}
      </p>
      <Toasts />
      <Confirmation />
      <Keys />
    </div>
  )
}

function Brand() {
  return (
    <a class="brand" href={hrefOf('/')}>
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M8 9h16a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-9l-5 4v-4H8a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2z" />
      </svg>
      {facts.brand}
      {facts.dev && <span class="badge plain">{t('dev')}</span>}
    </a>
  )
}

function Workspaces() {
  const { value } = session
  if (!value) return null
  const { workspaces, workspace_id } = value
  return (
    <div class="workspace">
      {workspaces.length > 1 ? (
        <Select
          bare
          label={t('Workspace')}
          value={workspace_id}
          options={workspaces.map(({ id, name }) => [id, name])}
          onInput={(id) => void chooseWorkspace(id)}
        />
      ) : (
        <span class="workspace-name" dir="auto" title={workspaces[0]?.name}>
          {workspaces[0]?.name}
        </span>
      )}
      <ModeSwitch />
    </div>
  )
}

function GoTo() {
  return (
    <button
      type="button"
      class="button go-to"
      aria-keyshortcuts={isApple ? 'Meta+K' : 'Control+K'}
      onClick={() => {
        overlay.value = 'palette'
      }}
    >
      {t('Go to…')} <kbd>{isApple ? '⌘ K' : t('Ctrl K')}</kbd>
    </button>
  )
}

function ModeSwitch() {
  return (
    <label
      class="mode"
      title={t('Show and send test messages: they are simulated and cost nothing')}
    >
      <input
        type="checkbox"
        role="switch"
        aria-checked={mode.value === 'test'}
        checked={mode.value === 'test'}
        onChange={({ currentTarget }) => chooseMode(currentTarget.checked ? 'test' : 'live')}
      />
      <span>{t('Test mode')}</span>
    </label>
  )
}

function Navigation() {
  // On a low screen the list scrolls, and the entry of the page may be out of view.
  const element = useRef<HTMLElement>(null)
  useEffect(() => {
    const side = element.current?.closest('.side')
    const current = side?.querySelector('[aria-current]')?.getBoundingClientRect()
    if (!side || !current) return
    // The Tab key would begin at an element that `scrollIntoView` has shown, behind the skip link.
    const { top, bottom } = side.getBoundingClientRect()
    side.scrollTop += Math.max(0, current.bottom - bottom) - Math.max(0, top - current.top)
  }, [path.value])
  const shown = PAGES.filter(({ label, needs, dev }) => label && may(needs) && (!dev || facts.dev))
  return (
    <nav aria-label={t('Main')} ref={element}>
      <PageLinks pages={shown.filter(({ group }) => !group)} />
      {Object.entries(GROUPS).map(([group, name]) => {
        const pages = shown.filter((one) => one.group === group)
        if (pages.length === 0) return null
        return (
          <section key={group}>
            <h2>{name}</h2>
            <PageLinks pages={pages} />
          </section>
        )
      })}
      {facts.dev && (
        <section>
          <h2>{t('Reference')}</h2>
          <ul>
            <li>
              <a href={`${root}/docs`} target="_blank" rel="noreferrer">
                <Icon name="tools" />
                {t('API reference')}
              </a>
            </li>
          </ul>
        </section>
      )}
    </nav>
  )
}

function PageLinks({ pages }: { pages: readonly PageEntry[] }) {
  return (
    <ul>
      {pages.map((page) => (
        <li key={page.path}>
          <a
            href={hrefOf(page.path.replace(/\/:.*$/, '') || '/')}
            aria-current={match(page.path, path.value) ? 'page' : undefined}
          >
            <Icon name={page.icon ?? 'empty'} />
            {page.label}
          </a>
        </li>
      ))}
    </ul>
  )
}

function Operator() {
  const { value } = operator
  if (value === null) return null
  return (
    <div class="person">
      <span class="person-name" title={value}>
        {value}
        <small>{t('operator of the service')}</small>
      </span>
      {!facts.sign_in.includes('host') && !facts.dev && (
        <Button
          kind="quiet"
          icon="exit"
          label={t('Sign out as an operator')}
          onClick={async () => {
            await ownApi.send('DELETE', '/operator/session')
            operator.value = null
            go('/operator')
          }}
        />
      )}
    </div>
  )
}

function Person() {
  const { value } = session
  if (!value) return null
  const { user, role } = value
  return (
    <div class="person">
      <span class="person-name" title={user.email ?? ''}>
        {user.name ?? user.email ?? t('Signed in')}
        <small>{wordOf(role)}</small>
      </span>
      {!facts.sign_in.includes('host') && (
        <Button
          kind="quiet"
          icon="exit"
          label={t('Sign out')}
          onClick={async () => {
            await signOut()
            go('/sign-in')
          }}
        />
      )}
    </div>
  )
}

/** The page of an address without a page. */
export function NotFound() {
  return (
    <Empty icon="warning" title={t('There is no such page')}>
      <LinkButton to="/">{t('Home')}</LinkButton>
    </Empty>
  )
}

/** The page of a person whose role does not include it. */
export function NotAllowed() {
  return (
    <Empty icon="warning" title={t('Your role does not include this page')}>
      <p>{t('The owner or an admin of the workspace can change your role.')}</p>
      <LinkButton to="/">{t('Home')}</LinkButton>
    </Empty>
  )
}
