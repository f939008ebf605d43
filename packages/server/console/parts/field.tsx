import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type FoundPerson, usePeople } from './people.tsx'

interface Labelled {
  label: string
  /** A sentence below the control. */
  hint?: ComponentChildren
  /** What is wrong with the value. */
  error?: string | undefined
}

/** A label with its control, a hint and an error. `children` gets the attributes of the control. */
export function Field({
  label,
  hint,
  error,
  children,
}: Labelled & {
  children(control: {
    id: string
    'aria-describedby'?: string
    'aria-invalid'?: boolean
  }): ComponentChildren
}) {
  const id = useId()
  const notes = [error && `${id}-error`, hint && `${id}-hint`].filter(Boolean)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(notes.length > 0 ? { 'aria-describedby': notes.join(' ') } : {}),
        ...(error ? { 'aria-invalid': true } : {}),
      })}
      {error && (
        <p id={`${id}-error`} class="field-error" role="alert">
          {error}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} class="field-hint">
          {hint}
        </p>
      )}
    </div>
  )
}

type InputType =
  | 'text'
  | 'email'
  | 'password'
  | 'tel'
  | 'number'
  | 'url'
  | 'datetime-local'
  | 'date'
  | 'time'

interface Value {
  value: string
  onInput(value: string): void
}

type Control = Labelled &
  Value & {
    placeholder?: string
    required?: boolean
    autofocus?: boolean
    /** The hint for password managers and phones, such as `email`. */
    autocomplete?: string
  }

/** A labelled line of text. */
export function TextInput({
  label,
  hint,
  error,
  value,
  onInput,
  type = 'text',
  autofocus,
  ...more
}: Control & {
  type?: InputType
  inputMode?: string
  min?: string
  max?: string
  step?: string
  /** The id of a `datalist` with suggestions. */
  list?: string
}) {
  const element = useRef<HTMLInputElement>(null)
  // Unlike `useEffect`, it runs before the next key press, so that no character is lost.
  useLayoutEffect(() => {
    if (autofocus) element.current?.focus()
  }, [])
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...control}
          {...({ ...more, type } as object)}
          dir={type === 'text' ? 'auto' : undefined}
          // A dialog focuses the field with this attribute when it opens.
          autofocus={autofocus}
          ref={element}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** A labelled text with several lines. */
export function TextArea({
  label,
  hint,
  error,
  value,
  onInput,
  autofocus: _,
  ...more
}: Control & { rows?: number }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          dir="auto"
          {...control}
          {...(more as object)}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}

/** A labelled choice. `options`: values and their texts. `bare`: the label is only for screen readers. */
export function Select({
  label,
  hint,
  error,
  value,
  onInput,
  options,
  bare = false,
}: Labelled &
  Value & { options: readonly (readonly [value: string, text: string])[]; bare?: boolean }) {
  const select = (control: object) => (
    <select
      {...control}
      value={value}
      onChange={({ currentTarget }) => onInput(currentTarget.value)}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  )
  if (bare) return select({ 'aria-label': label })
  return (
    <Field label={label} hint={hint} error={error}>
      {select}
    </Field>
  )
}

/** A day of a filter, with its label beside it. */
export function DayInput({ label, value, onInput }: Value & { label: string }) {
  return (
    <label class="day">
      {label}
      <input
        type="date"
        value={value}
        onChange={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  )
}

const TYPING_MS = 300

/**
 * The search of a page: `/` focuses it, and the value is reported when typing pauses. With `onPerson` the contacts are offered
 * whose names begin with the text.
 */
export function Search({
  value,
  onInput,
  placeholder,
  onPerson,
}: Value & { placeholder: string; onPerson?: (person: FoundPerson) => void }) {
  const [typed, setTyped] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const element = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (document.activeElement !== element.current) setTyped(value)
  }, [value])
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const isTyping = (event.target as Element).closest('input, textarea, select, dialog')
      if (event.key !== '/' || isTyping) return
      event.preventDefault()
      element.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => {
      removeEventListener('keydown', focus)
      // A late search would lead back to this page.
      clearTimeout(timer.current)
    }
  }, [])
  const people = usePeople(typed, onPerson && take)
  function take(person: FoundPerson) {
    clearTimeout(timer.current)
    setTyped('')
    onPerson?.(person)
  }
  const input = (
    <input
      ref={element}
      class="search"
      dir="auto"
      aria-label={placeholder}
      placeholder={placeholder}
      value={typed}
      // Only an input for texts can be a combobox.
      {...(onPerson ? people.input : ({ type: 'search' } as object))}
      onInput={({ currentTarget }) => {
        setTyped(currentTarget.value)
        people.open()
        clearTimeout(timer.current)
        timer.current = setTimeout(() => onInput(currentTarget.value.trim()), TYPING_MS)
      }}
    />
  )
  if (!onPerson) return input
  return (
    <span class="combobox">
      {input}
      {people.list}
    </span>
  )
}
