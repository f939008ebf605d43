import type { Channel, Content } from '../contract/resources/content.ts'
import type { Template, TemplateVariable } from '../contract/resources/templates.ts'
import type { Dialect } from './dialect.ts'

/** The content of a template for one channel and one locale. */
export interface StoredVariant {
  channel: Channel
  locale: string
  content: Content
}

export function templateTables(d: Dialect) {
  const columns = () => ({
    description: d.text(),
    category: d.text().$type<Template['category']>().notNull(),
    default_locale: d.text().notNull(),
    variables: d.json<TemplateVariable[]>().notNull(),
    variants: d.json<StoredVariant[]>().notNull(),
  })
  /** The drafts of templates. A deleted template keeps its row while it has versions. */
  const templates = d.table(
    'templates',
    {
      workspace_id: d.text().notNull(),
      name: d.text().notNull(),
      id: d.text().notNull(),
      ...columns(),
      /** The channels and locales of the variants, so that a list does not read the contents. */
      kinds: d.json<Omit<StoredVariant, 'content'>[]>().notNull(),
      /** The latest version; null before the first one. */
      version: d.int(),
      /** Whether the draft differs from the latest version. */
      is_changed: d.boolean().notNull(),
      published_at: d.time(),
      created_at: d.time().notNull(),
      updated_at: d.time().notNull(),
      deleted_at: d.time(),
    },
    (t) => [
      d.primaryKey({ columns: [t.workspace_id, t.name] }),
      d.uniqueIndex('templates_id').on(t.workspace_id, t.id),
    ],
  )
  /** What was published; a row never changes. */
  const template_versions = d.table(
    'template_versions',
    {
      workspace_id: d.text().notNull(),
      name: d.text().notNull(),
      version: d.int().notNull(),
      ...columns(),
      /** The plain texts of e-mails that have only HTML, indexed by locale. */
      plain_texts: d.json<Record<string, string>>().notNull(),
      /**
       * The HTML of e-mails that differs from what their author wrote, indexed by locale: with its layout, its preview text
       * and its CSS in attributes. null: there is none.
       */
      htmls: d.json<Record<string, string>>(),
      /** The size of everything above as JSON in UTF-8. */
      size_bytes: d.int().notNull(),
      published_at: d.time().notNull(),
    },
    (t) => [d.primaryKey({ columns: [t.workspace_id, t.name, t.version] })],
  )
  return { templates, template_versions }
}
