import type { ComponentType } from 'preact'
import type { Need } from '../../src/console-api/console-answers.ts'
import { t } from './text.ts'

/** What a page gets. */
export interface PageProps {
  /** Those of its path. */
  params: Record<string, string>
  /** Whether the person may open the page at `to`, as links have it. */
  mayOpen(to: string): boolean
}

/** What the module of a page exports as `default`. */
export interface PageModule {
  /** The heading of the page and of the browser's tab. */
  title: string
  Page: ComponentType<PageProps>
}

/** The groups of the navigation, in their order. */
export const GROUPS = {
  Messaging: t('Messaging'),
  Audience: t('Audience'),
  Build: t('Build'),
  Workspace: t('Workspace'),
  Tools: t('Tools'),
  Operator: t('Operator'),
} as const

/** A page of the console: one line in `pages.ts`. */
export interface PageEntry {
  /** Below the console; `:name` is a parameter, `:name?` one that may be missing. */
  path: string
  /** The text in the navigation; absent for a page that only links lead to. */
  label?: string
  /** The icon in the navigation, from `parts/icon.tsx`. */
  icon?: string
  /** Absent: above all groups. */
  group?: keyof typeof GROUPS
  /** What the role must allow; other people do not see the page. */
  needs: Need
  /** Whether only `svc dev` has the page. */
  dev?: boolean
  /** A page of the first script, or how the script of the page is loaded. */
  page: PageModule | (() => Promise<PageModule>)
}
