ALTER TABLE "verifications" ADD COLUMN "fallback" json;--> statement-breakpoint
ALTER TABLE "verifications" ADD COLUMN "fallback_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "verifications" ADD COLUMN "other_recipient" text;--> statement-breakpoint
ALTER TABLE "verifications" ADD COLUMN "messages" json;--> statement-breakpoint
CREATE INDEX "verifications_fallback" ON "verifications" USING btree ("fallback_at") WHERE fallback_at is not null and ended_at is null;--> statement-breakpoint
CREATE INDEX "verifications_other" ON "verifications" USING btree ("workspace_id","other_recipient","created_at") WHERE other_recipient is not null;