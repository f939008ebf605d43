ALTER TABLE "messages" ADD COLUMN "recipients" json;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "tags" json;