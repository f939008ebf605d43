import { useId } from 'preact/hooks'

/** A labelled list of choices of which several may be chosen. `options`: values, their texts and an explanation. */
export function Checks({
  label,
  options,
  chosen,
  onChange,
  error,
}: {
  label: string
  options: readonly (readonly [value: string, text: string, hint?: string])[]
  chosen: readonly string[]
  onChange(chosen: string[]): void
  error?: string | undefined
}) {
  const id = useId()
  function toggle(value: string, isChosen: boolean) {
    const others = chosen.filter((one) => one !== value)
    onChange(isChosen ? [...others, value] : others)
  }
  return (
    <fieldset class="checks" aria-describedby={error && id}>
      <legend>{label}</legend>
      {options.map(([value, text, hint]) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget }) => toggle(value, currentTarget.checked)}
          />
          <span>
            {text}
            {hint && <small>{hint}</small>}
          </span>
        </label>
      ))}
      {error && (
        <p id={id} class="field-error">
          {error}
        </p>
      )}
    </fieldset>
  )
}
